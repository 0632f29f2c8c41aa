"""What a person sets for themselves: profile and preferences, API tokens, language and theme of the interface."""

from uuid import uuid4

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language, gettext_lazy, override
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

from accounts.models import ApiToken, Scope, Theme, User
from accounts.services import DEFAULT_TOKEN_DAYS, create_token, revoke_token, set_preferences
from frontend.pages import signed_in
from frontend.preferences import THEME_COOKIE

YEAR = 60 * 60 * 24 * 365
LIFETIMES = [
    ("30", gettext_lazy("30 days")),
    ("90", gettext_lazy("90 days")),
    ("365", gettext_lazy("1 year")),
    ("never", gettext_lazy("Until it is revoked")),
]


class ProfileForm(forms.Form):
    display_name = forms.CharField(
        label=gettext_lazy("Name shown to others"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("Empty: your sign-in name."),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the interface"),
        choices=[("", gettext_lazy("As the browser")), ("en", "English"), ("zh-hans", "简体中文")],
        widget=forms.RadioSelect,
        required=False,
    )
    theme = forms.ChoiceField(label=gettext_lazy("Theme"), choices=Theme.choices, widget=forms.RadioSelect)
    submit_on_enter = forms.BooleanField(
        label=gettext_lazy("Enter submits"),
        required=False,
        help_text=gettext_lazy(
            "Shift+Enter then starts a new line. Enter that confirms a word of an input method never submits."
        ),
    )


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
    # A form sent twice is one token, whose last value works.
    request_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4, required=False)


@login_required
def profile(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    form = ProfileForm(request.POST or None, initial=model_to_dict(user, ProfileForm.base_fields))
    if request.method == "POST" and form.is_valid():
        set_preferences(user=user, **form.cleaned_data)
        # The message already speaks the language that was just chosen.
        with override(form.cleaned_data["language"] or get_language()):
            messages.success(request, _("Saved."))
        return redirect("profile")
    return render(request, "account/profile.html", {"form": form, "title": _("Profile and preferences")})


@login_required
@never_cache
@sensitive_variables("plain")
def api_tokens(request: HttpRequest) -> HttpResponse:
    """The person's tokens. A new one's value is in this answer only: it is nowhere stored, nor in the session."""
    user = signed_in(request)
    form = TokenForm(request.POST or None)
    made, plain = None, ""
    if request.method == "POST" and form.is_valid():
        made, plain = create_token(user=user, **form.cleaned_data)
        form = TokenForm()
    tokens = ApiToken.objects.filter(user=user)[:100]
    context = {"form": form, "tokens": tokens, "made": made, "plain": plain, "title": _("API tokens")}
    return render(request, "account/api_tokens.html", context)


@require_POST
@login_required
def revoke_api_token(request: HttpRequest, token_id: int) -> HttpResponse:
    revoke_token(user=signed_in(request), token_id=token_id)
    messages.success(request, _("Revoked. Programs that use this token are refused from now on."))
    return redirect("api_tokens")


@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES):
        return HttpResponseBadRequest(_("There is no such language."))
    if isinstance(request.user, User):
        set_preferences(user=request.user, language=language)
    response = redirect(_next(request))
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME, language, max_age=YEAR, samesite="Lax", secure=settings.HTTPS
    )
    return response


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    theme = request.POST.get("theme", "")
    if theme not in Theme.values:
        return HttpResponseBadRequest(_("There is no such theme."))
    if isinstance(request.user, User):
        set_preferences(user=request.user, theme=theme)
    # theme.js has changed the page already and needs no second one.
    response = HttpResponse(status=204) if "HX-Request" in request.headers else redirect(_next(request))
    response.set_cookie(THEME_COOKIE, theme, max_age=YEAR, samesite="Lax", secure=settings.HTTPS)
    return response


def _next(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if safe else "/"
