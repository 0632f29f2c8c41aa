"""Serializers of candidate requests and generators."""

from typing import Any

from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from generation.models import BackendKind, CandidateRequest, Generator, RequestState
from generation.selectors import describe_request


class CandidateSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    score = serializers.FloatField(required=False, help_text="Only if the project shows scores.")


class CandidateRequestSerializer(serializers.Serializer[Any]):
    """Candidates are in displayed order; a source is named by its place in the list, from 0."""

    id = serializers.UUIDField()
    position = serializers.IntegerField(help_text="Position of the utterance that the candidates are for.")
    ordinal = serializers.IntegerField(help_text="0 is the turn's first set.")
    state = serializers.ChoiceField(choices=RequestState.choices)
    candidates = CandidateSerializer(many=True)
    candidate_set = serializers.IntegerField(allow_null=True)
    model_version = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)
    remedy = serializers.CharField(allow_blank=True)
    failures = serializers.ListField(
        child=serializers.CharField(), help_text="One reason for every missing candidate."
    )
    workers_alive = serializers.IntegerField(help_text="0: no worker is running, so the request waits.")
    queue_reachable = serializers.BooleanField(
        help_text="false: the queue (Redis) cannot be reached. The request is stored and is answered when it is back."
    )
    waited_ms = serializers.IntegerField(
        allow_null=True,
        help_text="0: it was ready before an annotator wanted it; null: nobody has wanted it yet.",
    )
    generated_ms = serializers.IntegerField(allow_null=True)

    def to_representation(self, instance: CandidateRequest) -> dict[str, Any]:
        return super().to_representation(describe_request(instance))


class GeneratorSerializer(serializers.ModelSerializer[Generator]):
    options = serializers.DictField()

    class Meta:
        model = Generator
        fields = ["slug", "backend", "options", "created_at"]


class SharingProjectSerializer(serializers.Serializer[Any]):
    """A project that a trained model is offered to or shared with."""

    project = serializers.SlugField(source="slug")
    is_shared = serializers.BooleanField(help_text="false: offered, and not accepted yet.")


class GeneratorFromOthersSerializer(serializers.Serializer[Any]):
    """Another project's trained model that is offered to this project or shared with it."""

    slug = serializers.SlugField()
    project = serializers.SlugField(source="project.slug", help_text="Whose model it is.")
    is_shared = serializers.BooleanField(help_text="false: offered, and not accepted yet.")


class OfferInput(StrictSerializer):
    project = serializers.SlugField(max_length=80, help_text="Short name of the other project.")


class GeneratorChange(StrictSerializer):
    backend = serializers.ChoiceField(choices=BackendKind.choices, required=False)
    options = serializers.DictField(
        required=False,
        help_text="All options of the backend. Secrets are refused: name the worker's environment variable instead "
        "(api_key_env).",
    )


class GeneratorInput(StrictSerializer):
    slug = serializers.SlugField(
        max_length=80, help_text="Name of the model; sending the same model again changes nothing."
    )
    backend = serializers.ChoiceField(choices=BackendKind.choices)
    options = serializers.DictField(
        help_text="Options of the backend. Secrets are refused: name the worker's environment variable instead "
        "(api_key_env)."
    )
