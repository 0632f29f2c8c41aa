"""Validation of the input of the REST API."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request

# JSON has types: a number is not a text, and "yes" is not a boolean. The first matching field class decides.
JSON_TYPES: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], tuple[type, ...]], ...] = (
    (serializers.BooleanField, (bool,)),
    (serializers.IntegerField, (int, float)),
    (serializers.FloatField, (int, float)),
    (serializers.CharField, (str,)),
    (serializers.UUIDField, (str,)),
)
PAGING = {"cursor", "page_size"}
ANSWER = ("format", "json")  # every answer is JSON, so asking for it changes nothing


class StrictSerializer(serializers.Serializer[Any]):
    """Base class for input. Unknown keys are refused; a mistyped key would otherwise be ignored silently."""

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
        return errors | {name: [_("This value has the wrong type.")] for name in wrong}


def _fits(field: serializers.Field[Any, Any, Any, Any], value: Any) -> bool:
    accepted = next((types for kind, types in JSON_TYPES if isinstance(field, kind)), None)
    if accepted is None or value is None:
        return True
    return isinstance(value, accepted) and (bool in accepted or not isinstance(value, bool))


def validated_input(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The validated body of the request. Raises ValidationError with every invalid field."""
    body = serializer(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


def validated_query(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The validated query. Empty values are left out; lists are names that are sent several times.

    Raises ValidationError for invalid and unknown names.
    """
    fields, sent = serializer().fields, request.query_params
    known = set(fields)
    name, value = ANSWER
    asks_for_json = {name} if request.query_params.get(name) == value else set()
    if unknown := sorted(set(request.query_params) - known - PAGING - asks_for_json):
        raise serializers.ValidationError({name: [_("Unknown field.")] for name in unknown})
    lists = {name for name in known if isinstance(fields[name], serializers.ListField)}
    query = serializer(
        data={
            name: sent.getlist(name) if name in lists else value
            for name, value in sent.items()
            if name in known and value
        }
    )
    query.is_valid(raise_exception=True)
    return dict(query.validated_data)
