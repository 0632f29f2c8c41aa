"""Jobs and workers in the administration pages. They are cancelled and retried on the pages of their project."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from jobs.models import Job, Worker


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = [
        "id",
        "kind",
        "project",
        "state",
        "done",
        "total",
        "attempts",
        "created_by",
        "created_at",
        "ended_at",
    ]
    list_filter = ["state", "kind"]
    list_select_related = ["project", "created_by"]
    search_fields = ["=id", "project__slug", "error"]


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ["name", "queues", "started_at", "seen_at"]
    search_fields = ["name"]
