"""How large a request may be, decided by its announced length before anything of it is read."""

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.decorators import sync_only_middleware
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Refusal
from common.rest.parsers import too_large
from common.rest.problems import CONTENT_TYPE, RETRY_AFTER, problem_body
from config.upload_addresses import IMPORTS
from dialogues.services import uploads
from frontend.pages.errors import plain_context
from projects.roles import Capability
from projects.selectors import project_for


@sync_only_middleware
class BodyLimitMiddleware:
    """Imports may send files of IMPORT_MAX_BYTES; every other body must fit into memory. Addresses have no NUL.

    Django limits forms and `request.body`, not the files of a form: a form of gigabytes would go to the disk for any
    address. The server never reads past the announced length.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            check_address(request)
            check_length(request)
        except Refusal as refusal:
            return refuse(request, refusal)
        return self.get_response(request)


@sync_only_middleware
class UploadMiddleware:
    """Files are read only from people who may import them, and only a few at a time.

    A session is checked here: looking for its CSRF token reads the form, which the address would authorise after that.
    The API checks a token before it reads.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        address = IMPORTS.fullmatch(request.path)
        if request.method != "POST" or address is None:
            return self.get_response(request)
        try:
            if isinstance(request.user, User):
                project_for(request.user, address["slug"], Capability.IMPORT)
            with uploads.one_of_few():
                return self.get_response(request)
        except Refusal as refusal:
            return refuse(request, refusal)


def refuse(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """A page for a form that was sent without scripts, else problem details."""
    response: HttpResponse
    if request.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", ""):
        response = JsonResponse(problem_body(refusal), status=refusal.status, content_type=CONTENT_TYPE)
    else:
        page = render_to_string("errors/refused_body.html", {"refusal": refusal, **plain_context(request)})
        response = HttpResponse(page, status=refusal.status)
    if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
        response["Retry-After"] = str(RETRY_AFTER)
    return response


def check_address(request: HttpRequest) -> None:
    """Raises Refusal "unreadable" for NUL in the path or the query: no name has it, and PostgreSQL fails on it."""
    if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
        raise Refusal(
            "unreadable",
            _("The address contains a character that no name can have (NUL)."),
            _("Remove it and send again."),
            status=HTTPStatus.BAD_REQUEST,
        )


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
