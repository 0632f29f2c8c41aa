"""Serializers of scoring runs and scores."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.tasks.models.rounds import Batch
from common.rest.serializers import StrictSerializer
from jobs.models import JobState
from preference.evaluators.models import EvaluatorName, MetaEvaluation, Score, ScoringRun, Target
from preference.evaluators.selectors.meta_evaluations import titles_of
from preference.evaluators.selectors.scoring import text_of


class ScoringRunSerializer(serializers.ModelSerializer[ScoringRun]):
    project = serializers.CharField(source="project.slug")
    model = serializers.CharField(source="model.slug", default=None, allow_null=True)
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    done = serializers.IntegerField(source="job.done")
    total = serializers.IntegerField(source="job.total", allow_null=True)
    error = serializers.CharField(source="job.error")
    remedy = serializers.CharField(source="job.remedy")
    settings = serializers.DictField()
    summary = serializers.DictField(
        help_text="mean, sd, low, high and histogram of the scores; empty until it is done, or if no row has a score."
    )
    reasons = serializers.DictField(
        child=serializers.IntegerField(), help_text="Rows without a score by reason."
    )

    class Meta:
        model = ScoringRun
        fields = [
            "id", "project", "evaluator", "model", "base", "settings", "target", "state", "done", "total", "error",
            "remedy", "scored", "unscored", "reasons", "summary", "created_at",
        ]  # fmt: skip


class ScoringRunDetailSerializer(ScoringRunSerializer):
    description = serializers.DictField(
        help_text="What decides about the scores: model, version, settings, prompts."
    )

    class Meta(ScoringRunSerializer.Meta):
        fields = [*ScoringRunSerializer.Meta.fields, "description"]


class ScoringInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first run.")
    evaluator = serializers.ChoiceField(choices=EvaluatorName.choices)
    target = serializers.ChoiceField(
        choices=Target.choices,
        required=False,
        help_text="Default: replies; in labelling, the last utterance of every dialogue.",
    )
    model = serializers.CharField(
        max_length=300,
        required=False,
        allow_blank=True,
        help_text="A trained model's name, a folder or a hub id, for evaluators that need one.",
    )
    settings = serializers.DictField(
        required=False, help_text="Settings of the evaluator that differ from its defaults."
    )


class ScoreSerializer(serializers.ModelSerializer[Score]):
    dialogue = serializers.IntegerField(source="dialogue_id")
    position = serializers.IntegerField(source="utterance.position")
    candidate = serializers.IntegerField(
        source="place",
        allow_null=True,
        help_text="Place in the candidate set; null for the reply that was sent.",
    )
    text = serializers.SerializerMethodField()
    score = serializers.FloatField(source="value", allow_null=True)
    details = serializers.DictField()

    class Meta:
        model = Score
        fields = ["id", "dialogue", "position", "candidate", "text", "score", "reason", "details"]

    def get_text(self, score: Score) -> str:
        return text_of(score)


class ScoresQuery(serializers.Serializer[Any]):
    unscored = serializers.BooleanField(required=False, default=False, help_text="Only rows without a score.")


class QueueOrderSerializer(serializers.Serializer[Any]):
    ordered = serializers.IntegerField(
        help_text="Open dialogues with a score, which get an order: the least certain first."
    )
    others = serializers.IntegerField(help_text="Open dialogues without a score, which follow.")
    run = serializers.UUIDField(
        allow_null=True, help_text="The run that the queue is ordered by now; null: by none."
    )


class RequestIdInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send changes nothing.")


class ChangedTasksSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Dialogues whose place in the queue changed.")


class MachineLabelsInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first batch.")
    options = serializers.DictField(
        help_text="The answer for each class of the assessor; classes that are left out stay with people."
    )
    least_probability = serializers.FloatField(
        required=False, min_value=0, max_value=1, help_text="Of the predicted class. Default: 0."
    )
    most = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100_000,
        help_text="Dialogues, the surest first. Default: 2000.",
    )


class MachineBatchSerializer(serializers.ModelSerializer[Batch]):
    project = serializers.CharField(source="project.slug")

    class Meta:
        model = Batch
        fields = ["project", "number", "size"]


class MetaEvaluationSerializer(serializers.ModelSerializer[MetaEvaluation]):
    project = serializers.CharField(source="project.slug")
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    error = serializers.CharField(source="job.error")
    remedy = serializers.CharField(source="job.remedy")
    evaluators = serializers.SerializerMethodField()
    report = serializers.DictField(
        help_text="As `python -m preference.training.meta --json` writes it; evaluators are named by their run's id."
    )

    class Meta:
        model = MetaEvaluation
        fields = [
            "id", "project", "question", "state", "error", "remedy", "evaluators", "report", "created_at",
        ]  # fmt: skip

    @extend_schema_field(
        serializers.DictField(child=serializers.CharField(), help_text="Titles by id of the run.")
    )
    def get_evaluators(self, evaluation: MetaEvaluation) -> dict[str, str]:
        return titles_of(evaluation)


class MetaEvaluationInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first one.")
    question = serializers.CharField(
        max_length=200,
        required=False,
        help_text="A question of the schema; in an assessment, overall or a statement. Default: the first.",
    )
    runs = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        max_length=40,
        help_text="Finished scoring runs. Default: the newest of each evaluator.",
    )
