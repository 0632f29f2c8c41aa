"""Copy a project: its settings, questions and guidelines; people only if asked."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from annotation.project_setup.copying import TITLE_KEPT, copy_project, suggest_copy_title
from common.refusals import Refusal
from frontend.pages.projects.new_project import ProjectNameForm
from frontend.pages.requests import signed_in
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for, projects_for


class CopyForm(ProjectNameForm):
    with_people = forms.BooleanField(
        label=gettext_lazy("The same people, with their roles and groups"), required=False
    )


@login_required
def copy(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    source = project_for(user, slug, Capability.MANAGE_MEMBERS)
    is_sent = request.method == "POST"
    form = CopyForm(request.POST) if is_sent else CopyForm(initial={"title": _suggest_title(user, source)})
    if request.method == "POST" and form.is_valid():
        values = dict(form.cleaned_data)
        try:
            made = copy_project(source=source, actor=user, creation_id=values.pop("id"), **values)
        except Refusal as refusal:
            form.add_refusal(refusal)
        else:
            messages.success(request, _("Copied, without dialogues. You manage the copy."))
            return redirect("project", made.slug)
    context = {"project": source, "form": form, "title": _("Copy the project")}
    status = 422 if form.is_bound else 200
    return render(request, "projects/copy.html", context, status=status)


def _suggest_title(user: User, source: Project) -> str:
    """One that no project has that the person sees, archived or not."""
    taken = {
        title
        for archived in (False, True)
        for title in projects_for(user, archived=archived)
        .filter(title__startswith=source.title[:TITLE_KEPT])
        .values_list("title", flat=True)
    }
    return suggest_copy_title(source, taken)


urlpatterns = [path("p/<slug:slug>/settings/copy/", copy, name="project_copy")]
