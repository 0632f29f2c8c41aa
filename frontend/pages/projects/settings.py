"""Settings of a project: its title, its guidelines with a preview, how dialogues are written or labelled."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.models import User
from annotation.authoring.models import AuthoringSettings
from annotation.authoring.selectors.settings import authoring_settings_of, latest_order
from annotation.authoring.services.planning import MAX_PLANNED, plan_dialogues
from annotation.authoring.services.settings import EDITABLE as AUTHORING
from annotation.authoring.services.settings import update_authoring
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.selectors.replanning import Replan, preview_replan
from annotation.labelling.selectors.settings import labelling_project, lacks_trainer
from annotation.labelling.selectors.workbench import labelling_progress
from annotation.labelling.services.planning import MAX_OVERLAP, plan_labelling
from annotation.labelling.services.settings import LABELLING_SETTINGS, update_labelling
from annotation.tasks.selectors.queue import task_counts
from common.refusals import Refusal
from frontend.pages.projects.missing_roles import no_trainer_yet
from frontend.pages.projects.replanning import preview_address
from frontend.pages.requests import signed_in
from frontend.pages.topics.forms import TopicsForm, topics_form
from frontend.ui.markdown import MAX_CHARS, to_html
from frontend.ui.setting_labels import SETTING_LABELS
from generation.models import CandidateOrder
from generation.selectors import usable_generators
from preference.topics.services.categories import set_categories
from projects.models import DialogueLanguage, Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of, groups_of, members_of, project_for
from projects.services import archive_project, project_version, restore_project, update_project


class ProjectForm(forms.Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=200)
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("For the people who take part. Markdown."),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the dialogues"),
        choices=DialogueLanguage.choices,
        widget=forms.RadioSelect,
    )
    guidelines_en = forms.CharField(
        label=gettext_lazy("Guidelines in English"),
        required=False,
        max_length=MAX_CHARS,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "lang": "en", "spellcheck": "true"}),
        help_text=gettext_lazy("Markdown: # heading, **bold**, - list, [link](https://…)."),
    )
    guidelines_zh = forms.CharField(
        label=gettext_lazy("Guidelines in Chinese"),
        required=False,
        max_length=MAX_CHARS,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "lang": "zh-Hans"}),
    )
    version = forms.CharField(widget=forms.HiddenInput, required=False, max_length=64)


class AuthoringForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = AuthoringSettings
        fields = AUTHORING
        labels = SETTING_LABELS
        widgets = {"candidate_order": forms.RadioSelect}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, nothing in (("generator", _("The server's own model")), ("second_generator", _("None"))):
            field = self.fields[name]
            if isinstance(field, forms.ModelChoiceField):
                field.empty_label = nothing
                field.queryset = usable_generators(
                    self.instance.project, self.instance.generator_id, self.instance.second_generator_id
                )
                # A promotion elsewhere changes the model; a form opened before must not undo it.
                field.show_hidden_initial = True


class DialoguePlanForm(forms.Form):
    count = forms.IntegerField(
        label=gettext_lazy("How many more dialogues"), min_value=1, max_value=MAX_PLANNED, initial=20
    )
    plan_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


class LabellingForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = LabellingSettings
        fields = LABELLING_SETTINGS
        labels = SETTING_LABELS
        widgets = {"resolution": forms.RadioSelect, "ties": forms.RadioSelect, "order": forms.RadioSelect}


class LabellingPlanForm(forms.Form):
    overlap = forms.IntegerField(
        label=gettext_lazy("People per dialogue"),
        min_value=1,
        max_value=MAX_OVERLAP,
        required=False,
        help_text=gettext_lazy("Empty: as many as the project's settings say."),
    )
    group = forms.ChoiceField(
        label=gettext_lazy("Only this group of annotators"),
        required=False,
        help_text=gettext_lazy("Put people into groups on the page “Members”."),
    )
    priority = forms.IntegerField(
        label=gettext_lazy("Priority"),
        min_value=-100,
        max_value=100,
        initial=0,
        help_text=gettext_lazy("Smaller numbers come first."),
    )
    plan_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["group"]
        if isinstance(field, forms.ChoiceField):
            field.choices = [("", _("Everybody")), *((name, name) for name in groups_of(project))]


@login_required
@never_cache
def settings_page(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.CONFIGURE)
    form = ProjectForm(request.POST or None, initial=_values(project))
    if request.method == "POST" and form.is_valid() and _save_project(request, form, project):
        return redirect("project_settings", slug)
    return _render(request, user, project, form=form)


def _values(project: Project) -> dict[str, str]:
    names = ("title", "description", "language", "guidelines_en", "guidelines_zh")
    return {name: getattr(project, name) for name in names} | {"version": project_version(project)}


def _save_project(request: HttpRequest, form: ProjectForm, project: Project) -> bool:
    changes = {name: _normalize_line_ends(value) for name, value in form.cleaned_data.items()}
    version = changes.pop("version") or None
    try:
        update_project(project=project, actor=signed_in(request), changes=changes, version=version)
    except Refusal as refusal:
        form.add_error(refusal.details.get("field"), str(refusal))
        if "version" in refusal.details:
            # The texts stay in the form with the new version: sending it again overwrites the other change on purpose.
            form.data = {**form.data.dict(), "version": refusal.details["version"]}  # type: ignore[attr-defined]
        return False
    messages.success(request, _("Saved."))
    return True


def _normalize_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n")  # what browsers send from a textarea


def order_note(project: Project) -> str:
    """Why candidates are in random order although the settings ask for the best first; "" if they are not."""
    settings = authoring_settings_of(project)
    if settings.candidate_order != CandidateOrder.BEST:
        return ""
    if settings.second_generator is not None:
        return _("The order is random as long as there is a second model.")
    if latest_order(project) == CandidateOrder.RANDOM:
        return _("The candidates shown last had no scores, so their order was random.")
    return ""


def _render(request: HttpRequest, user: User, project: Project, **forms_with_errors: Any) -> HttpResponse:
    context: dict[str, Any] = {
        "project": project,
        "title": _("Settings"),
        "form": ProjectForm(initial=_values(project)),
        "previews": {"en": to_html(project.guidelines_en), "zh": to_html(project.guidelines_zh)},
        "topics_form": topics_form(project),
        "may_archive": Capability.MANAGE_MEMBERS in capabilities_of(user, project),
        "members": members_of(project).count(),
    }
    if project.protocol == Protocol.AUTHORING:
        context["authoring_form"] = AuthoringForm(instance=authoring_settings_of(project))
        context["order_note"] = order_note(project)
        context["plan_form"] = DialoguePlanForm()
        context["tasks"] = counts = task_counts(project)
        context["held"] = counts.held
    elif project.protocol == Protocol.LABELLING:
        context["labelling_form"] = LabellingForm(instance=project.labelling)
        context["labelling_plan_form"] = LabellingPlanForm(project=project)
        context["no_trainer"] = no_trainer_yet() if lacks_trainer(project) else ""
        context["labelling"] = progress = labelling_progress(project)
        context["held"] = progress.held
    context |= forms_with_errors
    failed = any(form.is_bound for form in forms_with_errors.values())
    return render(request, "projects/settings.html", context, status=422 if failed else 200)


@require_POST
@login_required
def authoring(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.CONFIGURE)
    form = AuthoringForm(request.POST, instance=authoring_settings_of(project))
    if not form.is_valid():
        return _render(request, user, project, authoring_form=form)
    changes = {name: form.cleaned_data[name] for name in form.changed_data}
    update_authoring(project=project, actor=user, changes=changes)
    messages.success(request, _("Saved. It applies from the next turn on."))
    return redirect("project_settings", slug)


@require_POST
@login_required
def labelling(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.CONFIGURE)
    form = LabellingForm(request.POST, instance=project.labelling)
    if not form.is_valid():
        return _render(request, user, project, labelling_form=form)
    update_labelling(project=project, actor=user, changes=form.cleaned_data)
    if "overlap" in form.changed_data:
        return _offer_replan(request, project, form.cleaned_data["overlap"])
    messages.success(request, _("Saved. It applies from the next dialogue on."))
    return redirect("project_settings", slug)


def _offer_replan(request: HttpRequest, project: Project, overlap: int) -> HttpResponse:
    """A new number of people counts for dialogues that are planned later; show what it would do to the others."""
    if not preview_replan(project, Replan(overlap=overlap)).changed:
        messages.success(request, _("Saved. New dialogues will be labelled by this many people."))
        return redirect("project_settings", project.slug)
    messages.success(
        request, _("Saved for new dialogues. Here is what it would change for those that wait for labels.")
    )
    if lacks_trainer(project):
        messages.warning(request, no_trainer_yet())
    return redirect(preview_address(project, overlap=overlap))


@require_POST
@login_required
def topics(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.CONFIGURE)
    form = TopicsForm(request.POST)
    if not form.is_valid():
        return _render(request, user, project, topics_form=form)
    set_categories(project=project, actor=user, categories=form.cleaned_data["topics"])
    messages.success(request, _("Saved."))
    return redirect("project_settings", slug)


@require_POST
@login_required
def plan(request: HttpRequest, slug: str) -> HttpResponse:
    """Plan more dialogues to write; in a labelling project, tasks for the dialogues that have none."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.CONFIGURE)
    if project.protocol == Protocol.LABELLING:
        return _plan_labelling(request, user, project)
    authoring_settings_of(project)  # refuses other protocols
    form = DialoguePlanForm(request.POST)
    if not form.is_valid():
        return _render(request, user, project, plan_form=form)
    made = plan_dialogues(project=project, actor=user, **form.cleaned_data)
    messages.success(
        request, ngettext("%(n)s dialogue planned.", "%(n)s dialogues planned.", made) % {"n": intcomma(made)}
    )
    return redirect("project_settings", slug)


def _plan_labelling(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    form = LabellingPlanForm(request.POST, project=project)
    if not form.is_valid():
        return _render(request, user, project, labelling_plan_form=form)
    made = plan_labelling(project=project, actor=user, **form.cleaned_data)
    messages.success(
        request,
        ngettext("%(n)s dialogue can be labelled now.", "%(n)s dialogues can be labelled now.", made)
        % {"n": intcomma(made)},
    )
    return redirect("project_settings", project.slug)


@require_POST
@login_required
def preview(request: HttpRequest, slug: str) -> HttpResponse:
    """The guidelines as HTML; htmx shows them beside the input."""
    project_for(signed_in(request), slug, Capability.CONFIGURE)
    text = request.POST.get("guidelines_en") or request.POST.get("guidelines_zh") or ""
    return HttpResponse(to_html(text))


@require_POST
@login_required
def archive(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.MANAGE_MEMBERS)
    if request.POST.get("archived") == "1":
        archive_project(project=project, actor=signed_in(request))
        messages.success(request, _("Archived. Nothing is deleted; it can be restored here."))
        return redirect("project_settings", slug)
    restore_project(project=project, actor=signed_in(request))
    messages.success(request, _("Restored: it is in everybody's list again."))
    return redirect("project", slug)


urlpatterns = [
    path("p/<slug:slug>/settings/", settings_page, name="project_settings"),
    path("p/<slug:slug>/settings/authoring/", authoring, name="project_authoring"),
    path("p/<slug:slug>/settings/labelling/", labelling, name="project_labelling"),
    path("p/<slug:slug>/settings/topics/", topics, name="project_topics"),
    path("p/<slug:slug>/settings/plan/", plan, name="project_plan"),
    path("p/<slug:slug>/settings/archive/", archive, name="project_archive"),
    path("p/<slug:slug>/guidelines/preview/", preview, name="guidelines_preview"),
]
