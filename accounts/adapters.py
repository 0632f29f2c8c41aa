from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Signing up is closed unless SIGNUP_OPEN is set: managers make the accounts, with one-time passwords."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.ACCOUNT_SIGNUP_OPEN)

    def pre_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse | None:
        """A one-time password that was not used in time opens nothing."""
        if user.temporary_password_until and user.temporary_password_until < timezone.now():
            messages.error(request, _("This one-time password has expired. Ask your manager for a new one."))
            return redirect("account_login")
        answer: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return answer

    def set_password(self, user: User, password: str) -> None:
        """Every way in which a person chooses their own password comes through here."""
        user.temporary_password_until = None
        super().set_password(user, password)
