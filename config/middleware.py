"""How large a request may be, decided by its announced length before anything of it is read."""

import re
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.decorators import sync_only_middleware
from django.utils.translation import gettext as _

from common.refusals import Refusal
from common.rest.parsers import too_large
from common.rest.problems import CONTENT_TYPE, problem_body
from dialogues.services import uploads
from frontend.pages.errors import plain_context

IMPORTS = re.compile(r"/(api/v1/projects|p)/[^/]+/imports/")


@sync_only_middleware
class BodyLimitMiddleware:
    """Imports may send files of IMPORT_MAX_BYTES; every other body must fit into memory.

    Django limits forms and `request.body`, not the files of a form: a form of gigabytes would go to the disk for any
    address. The server never reads past the announced length.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            check_length(request)
        except Refusal as refusal:
            return refuse(request, refusal)
        return self.get_response(request)


def refuse(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """A page for a form that was sent without scripts, else problem details."""
    if request.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", ""):
        return JsonResponse(problem_body(refusal), status=refusal.status, content_type=CONTENT_TYPE)
    page = render_to_string("errors/refused_body.html", {"refusal": refusal, **plain_context(request)})
    return HttpResponse(page, status=refusal.status)


def check_length(request: HttpRequest) -> None:
    """Raises Refusal "too_large", and "length_required" for a chunked body, which Django reads as an empty one."""
    if "Transfer-Encoding" in request.headers:
        raise length_required()
    length = request.META.get("CONTENT_LENGTH") or "0"
    if IMPORTS.fullmatch(request.path):
        uploads.check_content_length(length)
    elif length.isdecimal() and int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE + uploads.FORM_BYTES:
        raise too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def length_required() -> Refusal:
    return Refusal(
        "length_required",
        _("The request does not say how long it is."),
        _("Send it with a Content-Length, not in chunks."),
        status=HTTPStatus.LENGTH_REQUIRED,
    )
