"""The OpenAPI document: authentication, token scope and problems of every address."""

import re
from inspect import getdoc
from typing import Any, Literal

from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework.permissions import SAFE_METHODS

from accounts.rest.permissions import ScopedAccess, scope_for
from common.rest.problems import CONTENT_TYPE, ProblemSerializer
from common.rest.serializers import StrictSerializer

# HTTP status → name in the document, what it means.
PROBLEMS = {
    "400": ("Invalid", "The request is invalid; `errors` or `field` says where."),
    "401": ("Unauthenticated", "No valid token, and no session."),
    "403": ("NotAllowed", "The person's roles, or the token's scopes, do not allow it."),
    "404": ("NotFound", "It does not exist, or the person may not see it."),
    "406": ("NotAcceptable", "Only JSON is available."),
    "409": ("Refused", "The current state does not allow it; `code` and `remedy` say why and what to do."),
    "413": ("TooLarge", "The request is too large."),
    "415": ("UnsupportedMediaType", "The content type is not supported here."),
    "429": ("TooMany", "Too many requests; `Retry-After` says how many seconds to wait."),
    "503": ("Unavailable", "The database does not respond; send the same request again later."),
}


def first_sentence(text: str) -> str:
    """The summary in the list of operations."""
    return re.split(r"[.;:](?:\s|$)", text, maxsplit=1)[0].replace("\n", " ").strip()


class ApiTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "accounts.rest.authentication.ApiTokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        description = (
            "Created in your profile or with POST /api/v1/tokens/. Its scopes never exceed the owner's roles."
        )
        return {"type": "http", "scheme": "bearer", "bearerFormat": "lap_…", "description": description}


class PageScheme(SessionScheme):  # type: ignore[no-untyped-call]
    target_class = "accounts.rest.authentication.PageAuthentication"


class ProblemSchema(AutoSchema):
    """Adds the token scope to the description of each operation, and its problems to the responses."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        description = operation.get("description", "")
        if description:
            operation.setdefault("summary", first_sentence(description))
        if self._is_scoped():
            scope = f"Token scope: `{scope_for(self.method, self.view)}`"
            operation["description"] = f"{description}\n\n{scope}".strip()
        return operation

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> dict[str, Any]:
        responses: dict[str, Any] = super()._get_response_bodies(direction)
        for status in self._problem_statuses() - set(responses):
            responses[status] = self._problem(status).ref
        return dict(sorted(responses.items()))

    def _map_basic_serializer(
        self, serializer: Any, direction: Literal["request", "response"]
    ) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if isinstance(serializer, StrictSerializer):
            schema["additionalProperties"] = False
            if schema.get("description") == getdoc(StrictSerializer):
                del schema["description"]
        return schema

    def _problem(self, status: str) -> ResolvedComponent:
        name, meaning = PROBLEMS[status]
        body = self.resolve_serializer(ProblemSerializer, "response").ref
        component = ResolvedComponent(  # type: ignore[no-untyped-call]
            name=name,
            type=ResolvedComponent.RESPONSE,
            object=name,
            schema={"description": meaning, "content": {CONTENT_TYPE: {"schema": body}}},
        )
        self.registry.register_on_missing(component)
        return component

    def _problem_statuses(self) -> set[str]:
        statuses = {"400", "406", "503"}
        if self.view.get_throttles():
            statuses |= {"429"}
        if self._is_scoped():
            statuses |= {"401", "403"}
        if "{" in self.path or self._is_list_view():
            statuses |= {"404"}
        if self.method not in SAFE_METHODS:
            statuses |= {"409"}
        if self._get_request_body():  # type: ignore[no-untyped-call]
            statuses |= {"413", "415"}
        return statuses

    def _is_scoped(self) -> bool:
        return any(isinstance(permission, ScopedAccess) for permission in self.view.get_permissions())
