"""Shapes of generation in the REST API."""

from typing import Any

from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from generation.models import BackendKind, CandidateRequest, Generator, RequestState
from generation.selectors import describe


class CandidateSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    score = serializers.FloatField(required=False, help_text="Only where the project shows scores.")


class CandidateRequestSerializer(serializers.Serializer[Any]):
    """Candidates are in displayed order; a source is named by its place in the list, from 0."""

    id = serializers.UUIDField()
    position = serializers.IntegerField(help_text="Of the utterance that they are candidates for.")
    ordinal = serializers.IntegerField(help_text="0 is the turn's first set.")
    state = serializers.ChoiceField(choices=RequestState.choices)
    candidates = CandidateSerializer(many=True)
    candidate_set = serializers.IntegerField(allow_null=True)
    model_version = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)
    remedy = serializers.CharField(allow_blank=True)
    failures = serializers.ListField(
        child=serializers.CharField(), help_text="One for every candidate that could not be had."
    )
    workers_alive = serializers.IntegerField(help_text="0: nobody generates now; the request waits.")
    waited_ms = serializers.IntegerField(
        allow_null=True, help_text="0: it was there before it was wanted; null: nobody has wanted it yet."
    )
    generated_ms = serializers.IntegerField(allow_null=True)

    def to_representation(self, instance: CandidateRequest) -> dict[str, Any]:
        return super().to_representation(describe(instance))


class GeneratorSerializer(serializers.ModelSerializer[Generator]):
    options = serializers.DictField()

    class Meta:
        model = Generator
        fields = ["slug", "backend", "options", "created_at"]


class GeneratorChange(StrictSerializer):
    backend = serializers.ChoiceField(choices=BackendKind.choices, required=False)
    options = serializers.DictField(
        required=False,
        help_text="Of the backend, all of them. Secrets are refused: name the worker's environment variable instead "
        "(api_key_env).",
    )


class GeneratorInput(StrictSerializer):
    slug = serializers.SlugField(
        max_length=80, help_text="Its name; the same one sent again changes nothing."
    )
    backend = serializers.ChoiceField(choices=BackendKind.choices)
    options = serializers.DictField(
        help_text="Of the backend. Secrets are refused: name the worker's environment variable instead (api_key_env)."
    )
