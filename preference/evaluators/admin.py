"""Scoring runs and meta-evaluations in the administration pages, read-only."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.evaluators.models import MetaEvaluation, Score, ScoringRun


@admin.register(ScoringRun)
class ScoringRunAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "evaluator", "model", "target", "scored", "unscored", "created_at"]
    list_filter = ["evaluator", "project"]
    list_select_related = ["project", "model"]
    raw_id_fields = ["job", "model", "created_by"]


@admin.register(MetaEvaluation)
class MetaEvaluationAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "question", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project"]
    raw_id_fields = ["job", "runs", "created_by"]


@admin.register(Score)
class ScoreAdmin(ReadOnlyAdmin):
    list_display = ["id", "run", "dialogue", "value", "reason"]
    search_fields = ["=run__id"]
    list_select_related = ["run", "dialogue"]
    raw_id_fields = ["run", "dialogue", "utterance"]
