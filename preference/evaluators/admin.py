"""Scoring runs in the administration pages, read-only."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.evaluators.models import ScoringRun


@admin.register(ScoringRun)
class ScoringRunAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "evaluator", "model", "target", "scored", "unscored", "created_at"]
    list_filter = ["evaluator", "project"]
    list_select_related = ["project", "model"]
    raw_id_fields = ["job", "model", "created_by"]
