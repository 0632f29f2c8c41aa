"""Create a project from a preset."""

from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms.boundfield import BoundWidget
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.project_setup.presets.preset import Preset
from annotation.project_setup.presets.registry import PRESETS
from annotation.project_setup.services import create_project
from common.refusals import NotAllowed, Refusal
from frontend.pages.requests import signed_in
from projects.models import DialogueLanguage, Project, Protocol
from projects.selectors import may_create_projects


class ProjectNameForm(forms.Form):
    """What every new project needs, also a copy. id: of the request, so that sending it twice makes one project."""

    title = forms.CharField(label=gettext_lazy("Title"), max_length=200)
    slug = forms.RegexField(
        r"^[a-z0-9][a-z0-9_-]*$",
        label=gettext_lazy("Short name"),
        max_length=80,
        required=False,
        help_text=gettext_lazy(
            "Part of the project's address and used on the command line: lowercase letters, digits, - and _. It"
            " cannot be changed later. Leave it empty to build it from the title; if another project has"
            " that name, a number is added."
        ),
        error_messages={"invalid": gettext_lazy("Lowercase letters, digits, - and _ only.")},
    )
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    def add_refusal(self, refusal: Refusal) -> None:
        """Say why no project was made. Sending the corrected form is a new request, so it gets a new id."""
        field = refusal.details.get("field")
        self.add_error(field if field in self.fields else None, str(refusal))
        self.data = {**dict(self.data.items()), "id": str(uuid4())}


class NewProjectForm(ProjectNameForm):
    preset = forms.ChoiceField(
        label=gettext_lazy("Starts with"),
        choices=[(name, preset.title) for name, preset in PRESETS.items()],
        widget=forms.RadioSelect,
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the dialogues"),
        choices=DialogueLanguage.choices,
        initial=DialogueLanguage.MIXED,
        widget=forms.RadioSelect,
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("One or two sentences for the people who take part."),
    )


@login_required
def new_project(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    if not may_create_projects(user):
        raise NotAllowed(
            _("Only managers create projects."), _("Ask one of them, or whoever runs this server.")
        )
    form = NewProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = dict(form.cleaned_data)
        try:
            project = create_project(actor=user, creation_id=values.pop("id"), **values)
        except Refusal as refusal:
            form.add_refusal(refusal)
        else:
            messages.success(request, _created_message(project))
            return redirect("project", project.slug)
    context = {"form": form, "title": _("New project"), "presets": _preset_choices(form)}
    return render(request, "projects/new_project.html", context)


def _preset_choices(form: forms.Form) -> list[tuple[BoundWidget, Preset]]:
    """Each choice as its radio button and the preset that it explains."""
    return [(choice, PRESETS[str(choice.data["value"])]) for choice in form["preset"]]


def _created_message(project: Project) -> str:
    if project.protocol == Protocol.ASSESSMENT:
        return _("The study is created, and you manage it.")
    return _("The project is created, and you manage it.")


urlpatterns = [path("projects/new/", new_project, name="new_project")]
