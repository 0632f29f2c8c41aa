"""Overlap, group and priority of the dialogues that are not labelled yet: a form, what it would do, and doing it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.labelling.selectors.replanning import (
    Replan,
    ReplanPreview,
    last_undoable_replan,
    preview_replan,
    tasks_to_replan,
)
from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.services.planning import MAX_OVERLAP
from annotation.labelling.services.replan_undo import UndoneReplan, undo_replan
from annotation.labelling.services.replanning import Replanned, check_replan, replan_tasks
from common.refusals import Refusal
from common.sentences import join_sentences
from dialogues.selectors import imports_with_dialogues
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.paging import parse_number
from jobs.models import Job
from projects.models import Project
from projects.roles import Capability
from projects.selectors import groups_of

EVERYBODY = "-"
GROUP = "="  # before the name of a group, which may itself be "-"
FILTERS = {"of_group", "of_import", "of_dialogues"}
IMPORTS_SHOWN = 50
MAX_CHOSEN = 1000  # dialogues


class DialogueIds(forms.Field):
    """The primary keys of chosen dialogues. Leaves out what is not a number."""

    def clean(self, value: Any) -> list[int]:
        keys = [parse_number(str(one)) for one in value or []]
        return sorted({key for key in keys if key is not None})[:MAX_CHOSEN]


def _import_choices(imports: Sequence[Job]) -> list[tuple[str, str]]:
    """The imports by name; those of equal names also by date and time."""
    names = Counter(job.parameters.get("name", "") for job in imports)
    return [
        (str(job.pk), f"{name} · {_moment(job)}" if names[name] > 1 else name)
        for job in imports
        for name in [job.parameters.get("name", "")]
    ]


def _moment(job: Job) -> str:
    return date_format(timezone.localtime(job.created_at), "DATETIME_FORMAT")


class ReplanForm(forms.Form):
    overlap = forms.IntegerField(
        label=gettext_lazy("People per dialogue"),
        min_value=1,
        max_value=MAX_OVERLAP,
        required=False,
        help_text=gettext_lazy("Empty: not changed."),
    )
    group = forms.ChoiceField(label=gettext_lazy("Labelled by"), required=False)
    priority = forms.IntegerField(
        label=gettext_lazy("Priority"),
        min_value=-100,
        max_value=100,
        required=False,
        help_text=gettext_lazy("Smaller numbers come first. Empty: not changed."),
    )
    of_group = forms.ChoiceField(label=gettext_lazy("Only dialogues that are labelled by"), required=False)
    of_import = forms.ChoiceField(label=gettext_lazy("Only dialogues of the import"), required=False)
    of_dialogues = DialogueIds(widget=forms.MultipleHiddenInput, required=False)
    request_id = forms.UUIDField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        groups = [(EVERYBODY, _("Everybody")), *((GROUP + name, name) for name in groups_of(project))]
        imports = _import_choices(list(imports_with_dialogues(project)[:IMPORTS_SHOWN]))
        for name, first, choices in (
            ("group", _("Do not change"), groups),
            ("of_group", _("Any group, or everybody"), groups),
            ("of_import", _("Any import"), imports),
        ):
            field = self.fields[name]
            if isinstance(field, forms.ChoiceField):
                field.choices = [("", first), *choices]

    def has_values(self) -> bool:
        """Whether a new value is given; the address of an import only says which dialogues."""
        return any(self.cleaned_data[name] not in (None, "") for name in ("overlap", "group", "priority"))

    def replan(self) -> Replan:
        data = self.cleaned_data
        return replace(
            self.filters(),
            overlap=data["overlap"],
            group=_group_named(data["group"]),
            priority=data["priority"],
        )

    def filters(self) -> Replan:
        """Which dialogues, without a new value."""
        data = self.cleaned_data
        return Replan(
            of_group=_group_named(data["of_group"]),
            of_import=data["of_import"] or None,
            of_dialogues=data["of_dialogues"] or None,
        )


def _group_named(choice: str) -> str | None:
    """None for no choice, "" for everybody."""
    if not choice:
        return None
    return choice.removeprefix(GROUP) if choice.startswith(GROUP) else ""


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def replan(request: HttpRequest, slug: str) -> HttpResponse:
    """The form; with values in the query, what they would do; POST does it."""
    project = labelling_project(signed_in(request), slug, Capability.CONFIGURE)
    sent = request.POST or request.GET
    form = ReplanForm(sent or None, project=project)
    preview = None
    if form.is_valid() and (request.method == "POST" or "show" in request.GET or form.has_values()):
        try:
            check_replan(project, form.replan())
            if request.method == "POST" and form.cleaned_data["request_id"]:
                return _carry_out(request, project, form)
            preview = preview_replan(project, form.replan())
        except Refusal as refusal:
            form.add_error(refusal.details.get("field"), str(refusal))
    return _render(request, project, form, preview)


def _render(
    request: HttpRequest, project: Project, form: ReplanForm, preview: ReplanPreview | None
) -> HttpResponse:
    context = {
        "project": project,
        "title": _("Change what is still to be labelled"),
        "form": form,
        "preview": preview,
        "waiting": _count_waiting(project, form),
        "chosen": len(form.cleaned_data.get("of_dialogues", [])) if form.is_bound else 0,
        "request_id": uuid4(),
        "last": last_undoable_replan(project),
    }
    failed = form.is_bound and bool(form.errors)
    return render(request, "projects/replan.html", context, status=422 if failed else 200)


def _count_waiting(project: Project, form: ReplanForm) -> int | None:
    """How many dialogues the filters choose; None if they are not valid."""
    if not form.is_bound:
        return tasks_to_replan(project, Replan()).count()
    if not FILTERS <= form.cleaned_data.keys():
        return None
    return tasks_to_replan(project, form.filters()).count()


def _carry_out(request: HttpRequest, project: Project, form: ReplanForm) -> HttpResponse:
    done = replan_tasks(
        project=project,
        actor=signed_in(request),
        request_id=form.cleaned_data["request_id"],
        replan=form.replan(),
    )
    messages.success(request, describe_change(done))
    if done.job is not None:
        return redirect("job", project.slug, done.job.pk)
    return redirect("project_replan", project.slug)


def describe_change(done: Replanned) -> str:
    changed = ngettext("%(n)s dialogue changed.", "%(n)s dialogues changed.", done.changed) % {
        "n": intcomma(done.changed)
    }
    if not done.added and not done.removed:
        return changed
    more = ngettext("%(n)s assignment more.", "%(n)s assignments more.", done.added) % {
        "n": intcomma(done.added)
    }
    fewer = ngettext("%(n)s assignment fewer.", "%(n)s assignments fewer.", done.removed) % {
        "n": intcomma(done.removed)
    }
    return join_sentences([changed, more if done.added else None, fewer if done.removed else None])


@login_required
@require_POST
def undo(request: HttpRequest, slug: str, replan_id: UUID) -> HttpResponse:
    """Give the dialogues of a change their former values."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.CONFIGURE)
    try:
        done = undo_replan(
            project=project, actor=user, request_id=posted_uuid(request, "request_id"), undone=replan_id
        )
    except Refusal as refusal:
        messages.error(request, str(refusal))
        return redirect("project_replan", slug)
    messages.success(request, _describe_undoing(done))
    return redirect("job", slug, done.job.pk) if done.job else redirect("project_replan", slug)


def _describe_undoing(done: UndoneReplan) -> str:
    undone = ngettext(
        "%(n)s dialogue has its earlier values again.",
        "%(n)s dialogues have their earlier values again.",
        done.changed,
    ) % {"n": intcomma(done.changed)}
    kept = ngettext(
        "%(n)s dialogue was changed or finished since and stays as it is.",
        "%(n)s dialogues were changed or finished since and stay as they are.",
        done.kept,
    ) % {"n": intcomma(done.kept)}
    return join_sentences([undone, kept if done.kept else None])


def preview_address(project: Project, **values: Any) -> str:
    """The page with these values filled in, showing what they would do."""
    return f"{reverse('project_replan', args=[project.slug])}?{urlencode(values)}"


urlpatterns = [
    path("p/<slug:slug>/settings/labelling/replan/", replan, name="project_replan"),
    path("p/<slug:slug>/settings/labelling/replan/<uuid:replan_id>/undo/", undo, name="project_replan_undo"),
]
