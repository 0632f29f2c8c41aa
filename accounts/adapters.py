from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as request_context
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import get_language, get_language_from_request, override
from django.utils.translation import gettext as _

from accounts.mail import is_mail_set_up, send_later
from accounts.models import User
from common.refusals import Refusal


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-up is closed unless SIGNUP_OPEN is set: managers create the accounts, with one-time passwords."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.ACCOUNT_SIGNUP_OPEN)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Failures count by name and address: somebody elsewhere must not lock the owner of a name out."""
        by_name = super()._get_login_attempts_cache_key(request, **credentials)
        return f"{by_name}:{self.get_client_ip(request)}"

    def pre_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse | None:
        """Refuse an expired one-time password."""
        if user.temporary_password_until and user.temporary_password_until < timezone.now():
            messages.error(request, _("This one-time password has expired. Ask your manager for a new one."))
            return redirect("account_login")
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response

    def add_message(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """The sign-out message appears on a guest page, so it is in the browser's language."""
        is_goodbye = "account/messages/logged_out.txt" in (*args, kwargs.get("message_template"))
        language = get_language_from_request(request) if is_goodbye else get_language()
        with override(language):
            super().add_message(request, *args, **kwargs)

    def set_password(self, user: User, password: str) -> None:
        """Called whenever a person chooses their own password."""
        user.temporary_password_until = None
        super().set_password(user, password)

    def should_send_confirmation_mail(self, request: HttpRequest, email_address: Any, signup: bool) -> bool:
        return is_mail_set_up()

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Leave the message to a worker. The page says if that fails."""
        request = request_context.request
        context = {"request": request, "email": email, "site": settings.PUBLIC_URL, **context}
        try:
            send_later(self.render_mail(template_prefix, email, context))
        except Refusal as refusal:
            messages.error(request, str(refusal))

    def format_email_subject(self, subject: str) -> str:
        return subject
