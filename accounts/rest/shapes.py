"""Input of the REST API."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request


class Strict(serializers.Serializer[Any]):
    """Input: unknown keys are refused, since a mistyped one would be ignored in silence."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := set(data) - set(self.fields)):
            raise serializers.ValidationError(
                {name: ["Unknown field."] for name in sorted(map(str, unknown))}
            )
        return super().to_internal_value(data)


def checked(shape: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """What was sent, checked; raises the answer that names every field that is wrong."""
    sent = shape(data=request.data)
    sent.is_valid(raise_exception=True)
    return dict(sent.validated_data)


def checked_query(shape: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The query's filters, checked; empty ones are left out."""
    names = set(shape().fields)
    sent = {name: value for name, value in request.query_params.items() if name in names and value}
    query = shape(data=sent)
    query.is_valid(raise_exception=True)
    return dict(query.validated_data)
