"""Copy a project: its settings, questions and guidelines; people only if asked."""

from uuid import uuid4

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
from frontend.pages.requests import signed_in
from projects.roles import Capability
from projects.selectors import project_for


class CopyForm(forms.Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=200)
    slug = forms.RegexField(
        r"^[a-z0-9][a-z0-9_-]*$",
        label=gettext_lazy("Short name"),
        max_length=80,
        help_text=gettext_lazy("Used in addresses and on the command line: small letters, digits, - and _."),
        error_messages={"invalid": gettext_lazy("Small letters, digits, - and _ only.")},
    )
    with_people = forms.BooleanField(
        label=gettext_lazy("The same people, with their roles and groups"), required=False
    )
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


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
            field = refusal.details.get("field")
            form.add_error(field if field in form.fields else None, str(refusal))
            form.data = {**request.POST.dict(), "id": str(uuid4())}  # the corrected form is another request
        else:
            messages.success(request, _("Copied, without dialogues. You manage the copy."))
            return redirect("project", made.slug)
    context = {"project": source, "form": form, "title": _("Copy the project")}
    status = 422 if form.is_bound else 200
    return render(request, "projects/copy.html", context, status=status)


urlpatterns = [path("p/<slug:slug>/settings/copy/", copy, name="project_copy")]
