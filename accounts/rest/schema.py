"""What the OpenAPI document says about every address: how to authenticate, which scope, which problems."""

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
    "400": ("Invalid", "What was sent cannot be taken; `errors` or `field` names what is wrong."),
    "401": ("Unauthenticated", "No valid token, and no session."),
    "403": ("NotAllowed", "The person's roles, or the token's scopes, do not allow it."),
    "404": ("NotFound", "There is no such thing, or none that this person may see."),
    "406": ("NotAcceptable", "Only JSON is answered."),
    "409": ("Refused", "It does not fit the present state; `code` and `remedy` say why and what to do."),
    "413": ("TooLarge", "More was sent than is taken at once."),
    "415": ("UnsupportedMediaType", "It was not sent as what is read here."),
    "429": ("TooMany", "Too many requests; `Retry-After` says in how many seconds to go on."),
    "503": ("Unavailable", "The database does not answer; send the same again later."),
}


def first_sentence(text: str) -> str:
    """The line that a list of operations shows."""
    return re.split(r"[.;:](?:\s|$)", text, maxsplit=1)[0].replace("\n", " ").strip()


class ApiTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "accounts.rest.authentication.ApiTokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        said = "A token from your profile or from POST /api/v1/tokens/. Its scopes never exceed its owner's roles."
        return {"type": "http", "scheme": "bearer", "bearerFormat": "lap_…", "description": said}


class PageScheme(SessionScheme):  # type: ignore[no-untyped-call]
    target_class = "accounts.rest.authentication.PageAuthentication"


class ProblemSchema(AutoSchema):
    """Adds the token's scope to the description, and to the answers the problems that the address can answer with."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        said = operation.get("description", "")
        if said:
            operation.setdefault("summary", first_sentence(said))
        if self._is_scoped():
            scope = f"Token scope: `{scope_for(self.method, self.view)}`"
            operation["description"] = f"{said}\n\n{scope}".strip()
        return operation

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> dict[str, Any]:
        answers: dict[str, Any] = super()._get_response_bodies(direction)
        for status in self._problem_statuses() - set(answers):
            answers[status] = self._problem(status).ref
        return dict(sorted(answers.items()))

    def _map_basic_serializer(
        self, serializer: Any, direction: Literal["request", "response"]
    ) -> dict[str, Any]:
        shape: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if isinstance(serializer, StrictSerializer):
            shape["additionalProperties"] = False
            if shape.get("description") == getdoc(StrictSerializer):
                del shape["description"]
        return shape

    def _problem(self, status: str) -> ResolvedComponent:
        name, meaning = PROBLEMS[status]
        shape = self.resolve_serializer(ProblemSerializer, "response").ref
        component = ResolvedComponent(  # type: ignore[no-untyped-call]
            name=name,
            type=ResolvedComponent.RESPONSE,
            object=name,
            schema={"description": meaning, "content": {CONTENT_TYPE: {"schema": shape}}},
        )
        self.registry.register_on_missing(component)
        return component

    def _problem_statuses(self) -> set[str]:
        some = {"400", "406", "503"}
        if self.view.get_throttles():
            some |= {"429"}
        if self._is_scoped():
            some |= {"401", "403"}
        if "{" in self.path or self._is_list_view():
            some |= {"404"}
        if self.method not in SAFE_METHODS:
            some |= {"409"}
        if self._get_request_body():  # type: ignore[no-untyped-call]
            some |= {"413", "415"}
        return some

    def _is_scoped(self) -> bool:
        return any(isinstance(one, ScopedAccess) for one in self.view.get_permissions())
