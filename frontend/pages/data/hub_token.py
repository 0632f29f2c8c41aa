"""The token that a project's snapshots are pushed to a Hub with: set, replaced, removed, and never shown."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from common.refusals import Invalid
from frontend.pages.requests import signed_in
from preference.data.selectors.hub_tokens import hub_token_state
from preference.data.services.hub_tokens import LONGEST, remove_hub_token, set_hub_token
from projects.roles import Capability
from projects.selectors import project_for


class HubTokenForm(forms.Form):
    token = forms.CharField(
        label=gettext_lazy("Token"),
        max_length=LONGEST,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "Create one on the Hub that may write to the repositories of this project and to nothing else."
        ),
    )


@sensitive_post_parameters("token")
@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def hub_token(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.MANAGE_MEMBERS)
    form = HubTokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            set_hub_token(project=project, actor=user, token=form.cleaned_data["token"])
        except Invalid as refusal:
            form.add_error("token", str(refusal))
        else:
            messages.success(request, _("The token is stored, encrypted. Snapshots are pushed with it."))
            return redirect("hub_token", slug)
    context = {
        "project": project,
        "title": _("Hub token"),
        "form": form,
        "state": hub_token_state(project),
    }
    return render(request, "data/hub_token.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    remove_hub_token(project=project_for(user, slug, Capability.MANAGE_MEMBERS), actor=user)
    messages.success(request, _("The token is removed. Revoke it on the Hub, too, if nothing else needs it."))
    return redirect("hub_token", slug)


urlpatterns = [
    path("p/<slug:slug>/settings/hub-token/", hub_token, name="hub_token"),
    path("p/<slug:slug>/settings/hub-token/remove/", remove, name="hub_token_remove"),
]
