"""Training runs in the administration pages, read-only."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.runs.models import TrainingRun


@admin.register(TrainingRun)
class TrainingRunAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "number", "recipe", "base", "snapshot", "created_by", "created_at"]
    list_filter = ["recipe", "project"]
    list_select_related = ["project", "snapshot", "created_by"]
    raw_id_fields = ["job", "snapshot", "parent"]
    search_fields = ["=id", "project__slug", "base"]
