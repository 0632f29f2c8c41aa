"""The systems of an assessment project: the list, the forms, retiring."""

from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from assessment.sessions.selectors.failing_systems import failing_systems
from assessment.sessions.services.retired_systems import retire_unless_needed
from assessment.setup.selectors import assessment_project
from assessment.systems.models import Connector, System, TrialState, TrialTurn
from assessment.systems.selectors.sentences import translate_error
from assessment.systems.selectors.systems import system_in, systems_of
from assessment.systems.selectors.trials import last_checks
from assessment.systems.services.systems import create_system, restore_system, update_system
from common.refusals import Refusal
from frontend.pages.assessment.system_form import FIELDS, SystemForm
from frontend.pages.requests import signed_in
from projects.models import Project
from projects.roles import Capability


@dataclass(frozen=True, slots=True)
class ConnectorChoice:
    value: str
    label: str | Promise
    text: str | Promise
    icon: str


CHOICES: Final = (
    ConnectorChoice(
        Connector.GENERATOR,
        Connector.GENERATOR.label,
        gettext_lazy("A model of the registry; conversations are answered in batches."),
        "chip",
    ),
    ConnectorChoice(
        Connector.OPENAI,
        Connector.OPENAI.label,
        gettext_lazy("vLLM, a hosted model, or whatever serves /chat/completions."),
        "globe",
    ),
    ConnectorChoice(
        Connector.HTTP,
        Connector.HTTP.label,
        gettext_lazy("A chatbot of your own that remembers its conversations."),
        "external",
    ),
    ConnectorChoice(
        Connector.DEGRADED,
        Connector.DEGRADED.label,
        gettext_lazy("Careful participants rate it low: that is the reliability test."),
        "half",
    ),
)


@dataclass(frozen=True, slots=True)
class SystemRow:
    """state: retired, failing (participants get no reply now), failed or works (at the last check), unchecked."""

    system: System
    state: str
    check: TrialTurn | None

    @property
    def error(self) -> str:
        return translate_error(self.check.error) if self.check else ""


@login_required
@never_cache
@require_safe
def system_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = _project(request, slug)
    systems = list(systems_of(project))
    checks, failing = last_checks(systems), failing_systems(systems)
    rows = [
        SystemRow(one, _state(one, checks.get(one.pk), one.pk in failing), checks.get(one.pk))
        for one in systems
    ]
    context = {
        "project": project,
        "title": _("Systems"),
        "rows": rows,
        "choices": CHOICES,
        **_count_kinds(project, systems),
    }
    return render(request, "assessment/systems/list.html", context)


def _state(system: System, check: TrialTurn | None, is_failing: bool) -> str:
    if system.retired_at:
        return "retired"
    if is_failing:
        return "failing"
    if check is None:
        return "unchecked"
    return "works" if check.state == TrialState.REPLIED else "failed"


def _count_kinds(project: Project, systems: list[System]) -> dict[str, Any]:
    usable = [one for one in systems if one.retired_at is None and one.connector != Connector.IMPORTED]
    ordinary = sum(not one.is_degraded for one in usable)
    return {
        "ordinary": ordinary,
        "wanted": project.assessment.ordinary_systems,
        "has_degraded": ordinary < len(usable),
    }


@login_required
@never_cache
def system_new(request: HttpRequest, slug: str, connector: str) -> HttpResponse:
    project = _project(request, slug)
    if connector not in FIELDS:
        raise Http404
    form = SystemForm(request.POST or None, connector=connector, project=project, user=signed_in(request))
    if request.method == "POST" and form.is_valid():
        try:
            system = create_system(
                project=project, actor=signed_in(request), connector=connector, **form.settings()
            )
        except Refusal as refusal:
            _add_refusal(form, refusal)
        else:
            messages.success(
                request, _("“%(name)s” is added. Send it a message to check it.") % {"name": system.name}
            )
            return redirect("system_try", slug, system.pk)
    title = _("New system")
    return _render_form(request, project, form, title, connector)


@login_required
@never_cache
def system_edit(request: HttpRequest, slug: str, key: int) -> HttpResponse:
    project = _project(request, slug)
    system = system_in(project, key)
    if system.connector not in FIELDS:
        raise Http404
    form = SystemForm(
        request.POST or None,
        connector=system.connector,
        project=project,
        user=signed_in(request),
        system=system,
    )
    if request.method == "POST" and form.is_valid():
        try:
            update_system(system=system, actor=signed_in(request), **form.settings())
        except Refusal as refusal:
            _add_refusal(form, refusal)
        else:
            messages.success(request, _("Saved. Conversations under way continue with the new settings."))
            return redirect("system_try", slug, system.pk)
    return _render_form(request, project, form, system.name, system.connector, system)


def _add_refusal(form: SystemForm, refusal: Refusal) -> None:
    field = refusal.details.get("field") or ("name" if refusal.code == "name_taken" else None)
    form.add_error(field if field in form.fields else None, str(refusal))


def _render_form(
    request: HttpRequest,
    project: Project,
    form: SystemForm,
    title: str,
    connector: str,
    system: System | None = None,
) -> HttpResponse:
    context = {
        "project": project,
        "title": title,
        "form": form,
        "system": system,
        "choice": next(one for one in CHOICES if one.value == connector),
    }
    return render(request, "assessment/systems/form.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def system_retire(request: HttpRequest, slug: str, key: int) -> HttpResponse:
    system = retire_unless_needed(system=system_in(_project(request, slug), key), actor=signed_in(request))
    text = _("“%(name)s” starts no new conversations; those under way continue.")
    messages.success(request, text % {"name": system.name})
    return redirect("systems", slug)


@login_required
@require_POST
def system_restore(request: HttpRequest, slug: str, key: int) -> HttpResponse:
    system = restore_system(system=system_in(_project(request, slug), key), actor=signed_in(request))
    messages.success(request, _("“%(name)s” takes part again.") % {"name": system.name})
    return redirect("systems", slug)


def _project(request: HttpRequest, slug: str) -> Project:
    return assessment_project(signed_in(request), slug, Capability.CONFIGURE)


urlpatterns = [
    path("p/<slug:slug>/systems/", system_list, name="systems"),
    path("p/<slug:slug>/systems/new/<slug:connector>/", system_new, name="system_new"),
    path("p/<slug:slug>/systems/<int:key>/", system_edit, name="system_edit"),
    path("p/<slug:slug>/systems/<int:key>/retire/", system_retire, name="system_retire"),
    path("p/<slug:slug>/systems/<int:key>/restore/", system_restore, name="system_restore"),
]
