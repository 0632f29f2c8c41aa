"""After signing in with a one-time password, people must choose their own password first."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import sync_only_middleware
from django.utils.translation import gettext as _

from accounts.models import User

# Names of the URLs that remain open: changing the password, signing out, and what those pages need.
OPEN_URL_NAMES = {
    "account_change_password",
    "account_logout",
    "message_catalog",
    "message_catalog_json",
    "set_language",
    "set_theme",
    "healthz",
    "readyz",
    "metrics",
}


@sync_only_middleware
class OneTimePasswordMiddleware:
    """Redirects pages to the password change. accounts.rest.permissions refuses API requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        user = request.user
        if not isinstance(user, User) or user.temporary_password_until is None:
            return None
        match = request.resolver_match
        if request.path.startswith("/api/") or (match and match.url_name in OPEN_URL_NAMES):
            return None
        messages.warning(
            request, _("Choose your own password first. The one-time password stops working then.")
        )
        wanted = request.get_full_path() if request.method == "GET" else reverse("home")
        return redirect(f"{reverse('account_change_password')}?{urlencode({'next': wanted})}")
