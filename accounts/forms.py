"""Forms of allauth that this project changes (ACCOUNT_FORMS)."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import LoginForm, ResetPasswordForm
from django.http import HttpRequest

from accounts.mail import request_reset_mail


class SignInForm(LoginForm):  # type: ignore[misc]
    """Has the focus on the name, and after a refusal on the password, which the page does not show again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password" if self.is_bound else "login"].widget.attrs["autofocus"] = True


class ForgottenPasswordForm(ResetPasswordForm):  # type: ignore[misc]
    """Looks up no account: the worker that sends the email does."""

    def clean_email(self) -> str:
        return str(get_adapter().clean_email(self.cleaned_data["email"].lower()))

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Raises Refusal "mail_unavailable"."""
        email = str(self.cleaned_data["email"])
        request_reset_mail(email=email)
        return email
