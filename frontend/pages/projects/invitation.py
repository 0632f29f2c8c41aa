"""The page that an invitation opens: join with an account, or make one."""

from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.attempts import check_failures, count_failure
from accounts.models import User
from accounts.services import account_problems
from common.refusals import Refusal
from frontend.pages.account.new_password import NewPasswordForm
from frontend.preferences import activate_language
from frontend.ui.reading_languages import ReadingLanguagesField
from projects.invitations.services import accept_invitation, accept_with_new_account, open_invitation
from projects.models import Invitation, Role


class NewAccountForm(NewPasswordForm):
    username = forms.CharField(
        label=gettext_lazy("Sign-in name"),
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
        help_text=gettext_lazy("Letters, digits and @ . + - _"),
    )
    display_name = forms.CharField(
        label=gettext_lazy("Name shown to others"),
        max_length=80,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    reading_languages = ReadingLanguagesField()
    field_order = ("username", "display_name", "password", "repeated", "reading_languages")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@sensitive_post_parameters()
@sensitive_variables("key")
def invitation(request: HttpRequest) -> HttpResponse:
    """Opening the link changes nothing: programs that preview links open it, too."""
    key = request.POST.get("key", "") if request.method == "POST" else request.GET.get("key", "")
    try:
        check_failures(request, "invitation")
        if isinstance(request.user, User):
            return _join(request, request.user, key)
        return _make_account(request, key)
    except Refusal as refusal:
        count_failure(request, "invitation")
        return render(request, "errors/refusal.html", {"refusal": refusal}, status=refusal.status)


def _join(request: HttpRequest, user: User, key: str) -> HttpResponse:
    if request.method == "POST":
        return _welcome(request, accept_invitation(key=key, user=user))
    return _render(request, open_invitation(key=key), key)


def _make_account(request: HttpRequest, key: str) -> HttpResponse:
    row = open_invitation(key=key)
    activate_language(request, _chosen_language(request) or row.language)
    form = NewAccountForm(request.POST or None, initial={"display_name": row.name})
    if form.is_valid() and (user := _new_member(request, form, key)):
        get_adapter().login(request, user)
        return _welcome(request, row)
    return _render(request, row, key, form=form)


def _chosen_language(request: HttpRequest) -> str:
    """What the guest chose with the switch in the header; "" if none or an unknown one was chosen."""
    language = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    return language if language in dict(settings.LANGUAGES) else ""


def _new_member(request: HttpRequest, form: NewAccountForm, key: str) -> User | None:
    fields = {name: form.cleaned_data[name] for name in form.fields if name != "repeated"}
    try:
        return accept_with_new_account(key=key, language=_chosen_language(request), **fields)
    except Refusal as refusal:
        if refusal.code == "invitation_gone":
            raise
        count_failure(request, "invitation")  # it says which names are taken
        guest = User(username=fields["username"].strip(), display_name=fields["display_name"])
        for problem in (refusal, *account_problems(guest, fields["password"])):
            field = problem.details.get("field")
            if field not in form.errors:
                form.add_error(field if field in form.fields else None, str(problem))
    return None


def _welcome(request: HttpRequest, row: Invitation) -> HttpResponse:
    messages.success(request, _("You take part in “%(project)s” now.") % {"project": row.project.title})
    return redirect("project", row.project.slug)


def _render(
    request: HttpRequest, row: Invitation, key: str, form: NewAccountForm | None = None
) -> HttpResponse:
    here = f"{reverse('invitation')}?{urlencode({'key': key})}"
    context: dict[str, Any] = {
        "invitation": row,
        "roles": [Role(role).label for role in row.roles],
        "key": key,
        "form": form,
        "sign_in": f"{reverse('account_login')}?{urlencode({'next': here})}",
    }
    status = 422 if form is not None and form.errors else 200
    return render(request, "projects/invitations/accept.html", context, status=status)


urlpatterns = [path("invitation/", invitation, name="invitation")]
