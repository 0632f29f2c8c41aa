"""Serializers of evaluations."""

from typing import Any

from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from dialogues.models import Split
from jobs.models import JobState
from preference.evaluation.models import Evaluation


class EvaluationSerializer(serializers.ModelSerializer[Evaluation]):
    project = serializers.CharField(source="project.slug")
    model = serializers.CharField(source="model.slug", default=None, allow_null=True)
    snapshot = serializers.UUIDField(source="snapshot_id")
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    error = serializers.CharField(source="job.error")
    remedy = serializers.CharField(source="job.remedy")
    report = serializers.DictField(
        help_text="As `python -m preference.training.joint.evaluation --json` writes it."
    )

    class Meta:
        model = Evaluation
        fields = [
            "id", "project", "model", "base", "snapshot", "split", "state", "error", "remedy", "report", "created_at",
        ]  # fmt: skip


class EvaluationInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first evaluation.")
    snapshot = serializers.UUIDField()
    model = serializers.CharField(
        max_length=300,
        allow_blank=True,
        required=False,
        help_text="A trained model's name, a folder or a hub id, as for a new training.",
    )
    split = serializers.ChoiceField(
        choices=Split.choices, required=False, help_text="Default: the split that the snapshot holds out."
    )


class ComparisonSerializer(serializers.Serializer[Any]):
    """Models that were evaluated on the same data."""

    snapshot = serializers.UUIDField(source="snapshot.pk")
    split = serializers.CharField()
    rows = EvaluationSerializer(many=True, help_text="The newest evaluation of each model.")


class ComparisonsSerializer(serializers.Serializer[Any]):
    comparisons = ComparisonSerializer(many=True)
