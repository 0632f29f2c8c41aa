"""Tasks and assignments in Django's admin, read-only."""

from django.contrib import admin

from annotation.tasks.models.work import Assignment, Task
from common.read_only_admin import ReadOnlyAdmin


@admin.register(Task)
class TaskAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "dialogue_id", "overlap", "open_slots", "priority", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project"]
    search_fields = ["=id", "=dialogue__id"]
    raw_id_fields = ["dialogue"]
    ordering = ["-id"]


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = [
        "id",
        "project",
        "annotator",
        "dialogue_id",
        "state",
        "claimed_at",
        "lease_until",
        "submitted_at",
    ]
    list_filter = ["state", "project"]
    list_select_related = ["project", "annotator"]
    search_fields = ["=id", "=dialogue__id", "=annotator__username"]
    raw_id_fields = ["task", "dialogue", "annotator"]
