"""Errors as problem details (RFC 9457): application/problem+json with `code`, `title`, `detail`, `remedy`."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, JsonResponse
from django.http.request import UnreadablePostError
from django.utils.translation import gettext as _
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.views import set_rollback

from common.database import is_unavailable
from common.refusals import Refusal
from common.rest.parsers import too_large

CONTENT_TYPE = "application/problem+json"
RETRY_AFTER = 5  # seconds
logger = logging.getLogger(__name__)


class ProblemSerializer(serializers.Serializer[Any]):
    """Why a request was refused. Other members hold facts about the case; each address documents its codes."""

    type = serializers.CharField(help_text="Always about:blank; see `code`.")
    title = serializers.CharField(help_text="The HTTP status in words.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    code = serializers.CharField(help_text="For programs; does not change.")
    detail = serializers.CharField(help_text="The cause, in the person's language.")
    remedy = serializers.CharField(required=False, help_text="What to do, in the person's language.")
    errors = serializers.JSONField(  # type: ignore[assignment]
        required=False, help_text="What is wrong with each field."
    )


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Exception handler of DRF. Unexpected exceptions remain a 500."""
    refusal = _as_refusal(error)
    if refusal is not None:
        set_rollback()
        body = problem_body(refusal)
        response = Response(body, status=refusal.status, content_type=CONTENT_TYPE)
        if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
            response["Retry-After"] = str(RETRY_AFTER)
        return response
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    return _rest_framework_response(error) if isinstance(error, exceptions.APIException) else None


def _as_refusal(error: Exception) -> Refusal | None:
    if isinstance(error, Refusal):
        return error
    if isinstance(error, RequestDataTooBig):
        return too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    if isinstance(error, SuspiciousOperation | UnreadablePostError):
        return Refusal("unreadable", _("The request could not be read."), _("Send it again."), status=400)
    if is_unavailable(error):
        logger.error("the database does not respond", exc_info=error)
        return unavailable()
    return None


def unavailable() -> Refusal:
    return Refusal(
        "unavailable",
        _("The database does not answer."),
        _("Try again in a moment; a request with an id is stored once, however often it is sent."),
        status=HTTPStatus.SERVICE_UNAVAILABLE,
    )


def _rest_framework_response(error: exceptions.APIException) -> Response:
    set_rollback()
    if isinstance(error, exceptions.ValidationError):
        return problem_response(400, "invalid", _("The request has errors."), errors=error.detail)
    facts = getattr(error, "facts", {})
    response = problem_response(error.status_code, str(error.get_codes()), str(error.detail), **facts)
    if wait := getattr(error, "wait", None):
        response["Retry-After"] = str(int(wait) + 1)
    if challenge := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = challenge
    return response


def problem_response(status: int, code: str, detail: str, **more: Any) -> Response:
    return Response(_body(status, code, detail, more), status=status, content_type=CONTENT_TYPE)


def problem_body(refusal: Refusal) -> dict[str, Any]:
    facts = {"remedy": str(refusal.remedy), **refusal.details}
    return _body(refusal.status, refusal.code, str(refusal.message), facts)


def _body(status: int, code: str, detail: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    members = {key: value for key, value in facts.items() if value not in ("", None)}
    head = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": int(status)}
    return {**members, **head, "code": code, "detail": detail}


def problem_for_uncaught_error(request: HttpRequest, status: int) -> JsonResponse | None:
    """The response for an uncaught error at an /api/ address; None for the addresses of pages."""
    if not request.path.startswith("/api/"):
        return None
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        body = problem_body(unavailable())
        return JsonResponse(body, status=status, content_type=CONTENT_TYPE)
    messages = {
        400: ("bad_request", _("The request could not be understood.")),
        500: ("server_error", _("The server failed. The error is in its log; nothing was stored in part.")),
    }
    code, detail = messages[status]
    return JsonResponse(_body(status, code, detail, {}), status=status, content_type=CONTENT_TYPE)
