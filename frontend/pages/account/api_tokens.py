"""The API tokens of the signed-in person: list, create, revoke."""

from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

from accounts.models import ApiToken, Scope
from accounts.services import DEFAULT_TOKEN_DAYS, create_token, revoke_token
from frontend.pages.requests import signed_in

TOKENS_SHOWN = 100
LIFETIMES = [
    ("30", gettext_lazy("30 days")),
    ("90", gettext_lazy("90 days")),
    ("365", gettext_lazy("1 year")),
    ("never", gettext_lazy("Until it is revoked")),
]


class TokenForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("What it is for"),
        max_length=80,
        help_text=gettext_lazy("For example: export to the trainer"),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"),
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.READ],
        help_text=gettext_lazy("Never more than you may do yourself."),
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Valid for"),
        choices=LIFETIMES,
        coerce=lambda days: None if days == "never" else int(days),
        initial=str(DEFAULT_TOKEN_DAYS),
    )
    # Sending the form twice creates one token; only the value shown last works.
    request_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4, required=False)


@login_required
@never_cache
@sensitive_variables("plain")
def api_tokens(request: HttpRequest) -> HttpResponse:
    """List the tokens. The value of a new token is in this response only; neither database nor session stores it."""
    user = signed_in(request)
    form = TokenForm(request.POST or None)
    token, plain = None, ""
    if request.method == "POST" and form.is_valid():
        token, plain = create_token(user=user, **form.cleaned_data)
        form = TokenForm()
    tokens = ApiToken.objects.filter(user=user)[:TOKENS_SHOWN]
    context = {"form": form, "tokens": tokens, "created": token, "plain": plain, "title": _("API tokens")}
    return render(request, "account/api_tokens.html", context)


@require_POST
@login_required
def revoke_api_token(request: HttpRequest, token_id: int) -> HttpResponse:
    revoke_token(user=signed_in(request), token_id=token_id)
    messages.success(request, _("Revoked. Programs that use this token are refused from now on."))
    return redirect("api_tokens")


urlpatterns = [
    path("account/tokens/", api_tokens, name="api_tokens"),
    path("account/tokens/<int:token_id>/revoke/", revoke_api_token, name="revoke_api_token"),
]
