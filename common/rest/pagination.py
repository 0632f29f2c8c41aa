"""Pagination by key: every page costs the same, and new rows do not shift the pages."""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import Field, Model, QuerySet
from django.utils.translation import gettext as _
from rest_framework import pagination, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from common.refusals import Invalid, NotFound

MAX_PAGE = 200
Row = TypeVar("Row", bound=Model)


class CursorPagination(pagination.CursorPagination):
    """Ordered by the primary key. An invalid page_size or cursor is refused, not ignored."""

    ordering: str | tuple[str, ...] = "pk"
    page_size_query_param = "page_size"
    page_size_query_description = f"Rows a page, 1 to {MAX_PAGE}."
    cursor_query_description = "The start of the page: follow `next` and `previous` of a response."
    max_page_size = MAX_PAGE

    def get_page_size(self, request: Request) -> int | None:
        page_size = request.query_params.get("page_size")
        if page_size is None:
            return self.page_size
        if not (
            page_size.isascii()
            and page_size.isdecimal()
            and len(page_size) < 5
            and 1 <= int(page_size) <= MAX_PAGE
        ):
            raise Invalid(
                _("page_size is not a number from 1 to %(most)d.") % {"most": MAX_PAGE}, field="page_size"
            )
        return int(page_size)

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        self._key = _key(queryset, self.ordering)
        return super().paginate_queryset(queryset, request, view=view)

    def decode_cursor(self, request: Request) -> Any:
        cursor = super().decode_cursor(request)
        if cursor is not None and cursor.position is not None:
            try:
                self._key.to_python(cursor.position)
            except ValidationError as error:  # a cursor that this server did not make
                raise NotFound(_("There is no such page."), _("Begin with the first one.")) from error
        return cursor

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        described: dict[str, Any] = super().get_paginated_response_schema(schema)
        described["properties"]["next"].pop("example", None)
        described["properties"]["previous"].pop("example", None)
        return described | {"required": ["next", "previous", "results"]}

    def get_schema_operation_parameters(self, view: Any) -> list[Any]:
        parameters = super().get_schema_operation_parameters(view)
        for parameter in parameters:
            if parameter["name"] == "page_size":
                parameter["schema"] = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}
        return parameters


class NewestFirst(CursorPagination):
    ordering = "-pk"


class NewestByTime(CursorPagination):
    """For rows whose key is a UUID, which has no order in time."""

    ordering = ("-created_at", "-pk")


class Followed(CursorPagination):
    """For lists that grow: every page also has `resume`, the cursor behind its last row, on the last page too."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        page = super().paginate_queryset(queryset, request, view=view)
        # DRF keeps positions as text; its stubs say int.
        position: Any = str(page[-1].pk) if page else (self.cursor and self.cursor.position) or "0"
        link = self.encode_cursor(pagination.Cursor(offset=0, reverse=False, position=position))
        self._resume = parse_qs(urlsplit(link).query)[self.cursor_query_param][0]
        return page

    def get_paginated_response(self, data: Any) -> Response:
        response = super().get_paginated_response(data)
        response.data["resume"] = self._resume
        return response

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        described = super().get_paginated_response_schema(schema)
        described["properties"]["resume"] = {
            "type": "string",
            "description": "Send it as `cursor` to go on behind this page, when there are new rows.",
        }
        return described | {"required": [*described["required"], "resume"]}


def _key(queryset: "QuerySet[Any]", ordering: str | tuple[str, ...]) -> "Field[Any, Any]":
    name = (ordering if isinstance(ordering, str) else ordering[0]).lstrip("-")
    meta = queryset.model._meta
    try:
        field = meta.pk if name == "pk" else meta.get_field(name)
    except FieldDoesNotExist as error:
        raise TypeError(f"{meta.label} cannot be paged by {name}") from error
    if not isinstance(field, Field):
        raise TypeError(f"{meta.label} cannot be paged by {name}")
    return field


def paginated_rows(
    view: Any, request: Request, rows: "QuerySet[Row]", serialize: Callable[[list[Row]], object]
) -> Response:
    """One page of `rows`, in the order of the `pagination_class` of the view.

    serialize: called once with all rows of the page, so that it can load what belongs to them together.
    """
    paginator = view.pagination_class()
    page: list[Row] = paginator.paginate_queryset(rows, request, view=view) or []
    response: Response = paginator.get_paginated_response(serialize(page))
    return response


def paginated_response(
    view: Any,
    request: Request,
    rows: "QuerySet[Any]",
    serializer: type[serializers.BaseSerializer[Any]],
    **context: Any,
) -> Response:
    """One page of `rows`, each written by the serializer."""
    return paginated_rows(view, request, rows, lambda page: serializer(page, many=True, context=context).data)
