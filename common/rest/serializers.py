"""Input of the REST API."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request

# JSON has types, so a number is no text and "yes" no truth; the first kind of field that fits decides.
JSON_TYPES: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], tuple[type, ...]], ...] = (
    (serializers.BooleanField, (bool,)),
    (serializers.IntegerField, (int, float)),
    (serializers.FloatField, (int, float)),
    (serializers.CharField, (str,)),
    (serializers.UUIDField, (str,)),
)
PAGING = {"cursor", "page_size"}


class StrictSerializer(serializers.Serializer[Any]):
    """Input: unknown keys are refused, since a mistyped one would be ignored in silence."""

    def to_internal_value(self, data: Any) -> Any:
        errors = self._strict_errors(data) if isinstance(data, Mapping) else {}
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if isinstance(error.detail, dict):
                raise serializers.ValidationError({**error.detail, **errors}) from error
            raise
        if errors:
            raise serializers.ValidationError(errors)
        return value

    def _strict_errors(self, data: Mapping[str, Any]) -> dict[str, list[str]]:
        unknown = sorted(str(name) for name in set(data) - set(self.fields))
        errors = {name: [_("Unknown field.")] for name in unknown}
        if isinstance(data, QueryDict):  # a form's values are all text
            return errors
        known = {name: value for name, value in data.items() if name in self.fields}
        wrong = [name for name, value in known.items() if not _fits(self.fields[name], value)]
        return errors | {name: [_("This has another type.")] for name in wrong}


def _fits(field: serializers.Field[Any, Any, Any, Any], value: Any) -> bool:
    wanted = next((types for kind, types in JSON_TYPES if isinstance(field, kind)), None)
    if wanted is None or value is None:
        return True
    return isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))


def validated_input(shape: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """What was sent, checked; raises the answer that names every field that is wrong."""
    sent = shape(data=request.data)
    sent.is_valid(raise_exception=True)
    return dict(sent.validated_data)


def validated_query(shape: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The query's filters, checked; empty ones are left out, and unknown ones refused: they would filter nothing."""
    known = set(shape().fields)
    if unknown := sorted(set(request.query_params) - known - PAGING):
        raise serializers.ValidationError({name: [_("Unknown field.")] for name in unknown})
    query = shape(
        data={name: value for name, value in request.query_params.items() if name in known and value}
    )
    query.is_valid(raise_exception=True)
    return dict(query.validated_data)
