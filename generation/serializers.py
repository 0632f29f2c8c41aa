"""Shape of a request for candidates in the REST API."""

from typing import Any

from rest_framework import serializers

from generation.models import CandidateRequest, RequestState
from generation.selectors import describe


class CandidateSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()


class CandidateRequestSerializer(serializers.Serializer[Any]):
    """Candidates are in displayed order; a source is named by its place in the list, from 0."""

    id = serializers.UUIDField()
    position = serializers.IntegerField()
    ordinal = serializers.IntegerField()
    state = serializers.ChoiceField(choices=RequestState.choices)
    candidates = CandidateSerializer(many=True)
    candidate_set = serializers.IntegerField(allow_null=True)
    model_version = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)
    remedy = serializers.CharField(allow_blank=True)
    failures = serializers.ListField(child=serializers.CharField())
    workers_alive = serializers.IntegerField()
    waited_ms = serializers.IntegerField(allow_null=True)
    generated_ms = serializers.IntegerField(allow_null=True)

    def to_representation(self, instance: CandidateRequest) -> dict[str, Any]:
        return super().to_representation(describe(instance))
