"""Serializers of scoring runs and scores."""

from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from jobs.models import JobState
from preference.evaluators.models import EvaluatorName, Score, ScoringRun, Target
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


class ScoresQuery(StrictSerializer):
    unscored = serializers.BooleanField(required=False, default=False, help_text="Only rows without a score.")
