"""Errors as problem details (RFC 9457): application/problem+json with `code`, `title`, `detail`, `remedy`."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from accounts.errors import Refusal

CONTENT_TYPE = "application/problem+json"


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's handler. Anything that is not an answer to the client stays a 500."""
    if isinstance(error, Refusal):
        return problem(
            error.status, error.code, str(error.message), remedy=str(error.remedy), **error.details
        )
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    if isinstance(error, exceptions.ValidationError):
        return problem(400, "invalid", "The request has errors.", errors=error.detail)
    response = problem(error.status_code, str(error.get_codes()), str(error.detail))
    if wait := getattr(error, "wait", None):
        response["Retry-After"] = str(int(wait))
    if challenge := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = challenge
    return response


def problem(status: int, code: str, detail: str, **more: Any) -> Response:
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
    }
    body |= {key: value for key, value in more.items() if value}
    return Response(body, status=status, content_type=CONTENT_TYPE)
