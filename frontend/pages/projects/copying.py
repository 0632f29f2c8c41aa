"""Copy a project: its settings, questions and guidelines; people only if asked."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.project_setup.copying import copy_project
from common.refusals import Refusal
from frontend.pages.projects.new_project import ProjectNameForm
from frontend.pages.requests import signed_in
from projects.roles import Capability
from projects.selectors import project_for


class CopyForm(ProjectNameForm):
    with_people = forms.BooleanField(
        label=gettext_lazy("The same people, with their roles and groups"), required=False
    )


@login_required
def copy(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    source = project_for(user, slug, Capability.MANAGE_MEMBERS)
    form = CopyForm(request.POST or None, initial={"title": source.title})
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


urlpatterns = [path("p/<slug:slug>/settings/copy/", copy, name="project_copy")]
