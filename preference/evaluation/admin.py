"""Evaluations in the administration pages, read-only."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.evaluation.models import Evaluation


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "model", "base", "snapshot", "split", "created_at"]
    list_filter = ["split", "project"]
    list_select_related = ["project", "model", "snapshot"]
    raw_id_fields = ["job", "snapshot", "model"]
