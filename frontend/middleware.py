"""Middleware of the pages: the person's language, and refusals as pages or messages."""

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.decorators import sync_only_middleware
from django_htmx.http import HttpResponseClientRefresh, trigger_client_event

from accounts.models import User
from common.refusals import Refusal
from common.rest.problems import RETRY_AFTER
from frontend.pages.errors import page_of_form
from frontend.preferences import activate_language

GetResponse = Callable[[HttpRequest], HttpResponse]


@sync_only_middleware
class LanguageMiddleware:
    """Use the language that the person chose instead of the browser's. The choice of a guest is in Django's cookie."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = request.user
        if isinstance(user, User):
            activate_language(request, user.language)
        return self.get_response(request)


@sync_only_middleware
class SignedOutMiddleware:
    """Reload the whole page if htmx asks for a part of it after the person has signed out.

    Otherwise the sign-in form would appear inside the page and return to the part alone.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        target = response.headers.get("Location", "").partition("?")[0]
        if "HX-Request" in request.headers and target == resolve_url(settings.LOGIN_URL):
            return HttpResponseClientRefresh()
        return response


@sync_only_middleware
class RefusalMiddleware:
    """Turn a refusal into JSON for scripts, a toast for htmx, a message after a form, or a page."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, Refusal) or request.path.startswith("/api/"):
            return None
        if "application/json" in request.headers.get("Accept", ""):
            body = {
                "code": error.code,
                "detail": str(error.message),
                "remedy": str(error.remedy),
                **error.details,
            }
            return JsonResponse(body, status=error.status)
        if "HX-Request" in request.headers:  # js/shared/toast.js shows it; the page stays as it is
            note = {"text": str(error), "tone": "bad"}
            return trigger_client_event(HttpResponse(status=error.status), "toast", note)
        if request.method == "POST" and "Referer" in request.headers and error.status not in (403, 404):
            messages.error(request, str(error))
            return redirect(page_of_form(request) or "/")
        page = render(request, "errors/refusal.html", {"refusal": error}, status=error.status)
        if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
            page["Retry-After"] = str(RETRY_AFTER)
        return page
