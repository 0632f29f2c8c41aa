"""Error pages: the reason and the next step."""

import sys
from collections.abc import Sequence
from inspect import getclosurevars, isfunction
from urllib.parse import unquote, urlsplit, urlunsplit

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django_htmx.http import trigger_client_event

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
    """CSRF_FAILURE_VIEW: a form of a page from before somebody signed in. Nothing was stored; the browser still has the
    text. The page offers what works: its current form, or the question whether to sign out."""
    if "HX-Request" in request.headers:  # js/shared/toast.js shows it; the page stays as it is
        words = _(
            "This page is out of date: you signed in or out after opening it. Nothing was stored. Reload the page."
        )
        return trigger_client_event(HttpResponse(status=403), "toast", {"text": words, "tone": "bad"})
    context: dict[str, str | bool] = {**plain_context(request)}
    sign_out = reverse("account_logout")
    if request.path == sign_out:
        context |= {"sign_out": sign_out, "is_signed_in": request.user.is_authenticated}
    else:
        context["back"] = page_of_form(request)
    return HttpResponse(render_to_string("errors/csrf.html", context), status=403)


def page_of_form(request: HttpRequest) -> str:
    """The address of the page that the form was on, without its site; "" if the Referer is missing or foreign. A page
    that was itself the answer to a form cannot be opened: then it is the nearest one above."""
    referer = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(referer, {request.get_host()}):
        return ""
    page = urlsplit(referer)
    path = page.path or "/"
    if path.startswith("//") or not allowed_methods(path):  # as a link, the first is another site
        return ""
    if "GET" in allowed_methods(path):
        return urlunsplit(("", "", path, page.query, ""))
    while path != "/" and "GET" not in allowed_methods(path):
        path = path[: path.rstrip("/").rfind("/") + 1]
    return path


def allowed_methods(path: str) -> Sequence[str]:
    """The HTTP methods of the page at this path; empty if no page has it."""
    try:
        view: object = resolve(unquote(path)).func
    except Resolver404:
        return ()
    while isfunction(view):  # from the outermost decorator to the view
        methods: Sequence[str] | None = getclosurevars(view).nonlocals.get("request_method_list")
        if methods is not None:  # of django.views.decorators.http
            return methods
        view = getattr(view, "__wrapped__", None)
    return ("GET", "POST")


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
