"""What every page needs: the person's language, and refusals shown as pages or messages."""

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import translation
from django.utils.decorators import sync_only_middleware
from django_htmx.http import HttpResponseClientRefresh, trigger_client_event

from accounts.models import User
from common.refusals import Refusal

GetResponse = Callable[[HttpRequest], HttpResponse]


@sync_only_middleware
class LanguageMiddleware:
    """The language that the person chose wins over the browser's; the 中/EN switch of guests is Django's cookie."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = request.user
        if isinstance(user, User) and user.language:
            translation.activate(user.language)
            request.LANGUAGE_CODE = translation.get_language() or settings.LANGUAGE_CODE
        return self.get_response(request)


@sync_only_middleware
class SignedOutMiddleware:
    """A part of a page that asks after its person has signed out has the whole page loaded anew.

    The form to sign in has no place in the middle of it, and would lead back to that part alone.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        to = response.headers.get("Location", "").partition("?")[0]
        if "HX-Request" in request.headers and to == resolve_url(settings.LOGIN_URL):
            return HttpResponseClientRefresh()
        return response


@sync_only_middleware
class RefusalMiddleware:
    """A service's refusal: JSON for scripts, a note for htmx, a message for a sent form, else a page."""

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
        referer = request.headers.get("Referer")
        if request.method == "POST" and referer and error.status not in (403, 404):
            messages.error(request, str(error))
            return redirect(_same_site(request, referer))
        return render(request, "errors/refusal.html", {"refusal": error}, status=error.status)


def _same_site(request: HttpRequest, referer: str) -> str:
    origin = f"{request.scheme}://{request.get_host()}/"
    return referer.removeprefix(origin.rstrip("/")) if referer.startswith(origin) else "/"
