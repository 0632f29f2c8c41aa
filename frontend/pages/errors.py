"""Error pages: the reason and the next step."""

import sys

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from common.database import is_unavailable
from common.rest.problems import RETRY_AFTER, problem_for_uncaught_error
from frontend.preferences import THEME_COOKIE


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    page = HttpResponse(render_to_string("errors/400.html", plain_context(request)), status=400)
    return problem_for_uncaught_error(request, 400) or page


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The text of PermissionDenied, if any, names the required role."""
    reason = str(exception) if isinstance(exception, PermissionDenied) else ""
    return render(request, "errors/403.html", {"reason": reason}, status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW: a form without its token. Nothing was stored; the browser still has the text."""
    return HttpResponse(render_to_string("errors/csrf.html", plain_context(request)), status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "errors/404.html", {"path": request.path}, status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Rendered without database, session or user, because any of them may be broken."""
    if is_unavailable(sys.exception()):
        return database_unavailable(request)
    page = HttpResponse(render_to_string("errors/500.html", plain_context(request)), status=500)
    return problem_for_uncaught_error(request, 500) or page


def database_unavailable(request: HttpRequest) -> HttpResponse:
    """A lock that is held too long, or a database that restarts, in a view or in any middleware."""
    page = HttpResponse(render_to_string("errors/503.html", plain_context(request)), status=503)
    response = problem_for_uncaught_error(request, 503) or page
    response["Retry-After"] = str(RETRY_AFTER)
    return response


def plain_context(request: HttpRequest) -> dict[str, str]:
    request_id = request.META.get("lapidary.request_id", "")
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    return {"request_id": request_id, "plain_theme": theme if theme in ("light", "dark") else "auto"}
