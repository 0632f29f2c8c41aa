"""Annotation in the administration pages: to look, not to touch. Long lists are not counted."""

from django.contrib import admin

from accounts.read_only_admin import ReadOnlyAdmin
from annotation.models import (
    Assignment,
    AuthoringSettings,
    Draft,
    ExpertReview,
    FinalLabel,
    LabelDraft,
    LabellingSettings,
    Schema,
    Submission,
    Task,
    Topic,
    Turn,
    Workload,
)


@admin.register(AuthoringSettings)
class AuthoringSettingsAdmin(ReadOnlyAdmin):
    list_display = ["project", "generator", "candidates", "min_rounds", "lease_minutes", "experts_required"]
    list_select_related = ["project", "generator"]
    search_fields = ["project__slug"]


@admin.register(Topic)
class TopicAdmin(ReadOnlyAdmin):
    list_display = ["title", "language", "project"]
    list_filter = ["language"]
    list_select_related = ["project"]
    search_fields = ["title", "project__slug"]


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


@admin.register(Draft)
class DraftAdmin(ReadOnlyAdmin):
    """Unsent words belong to their author: only that and when they were saved is shown."""

    list_display = ["assignment_id", "position", "version", "saved_at"]
    exclude = ["text"]
    search_fields = ["=assignment__id"]
    raw_id_fields = ["assignment", "candidate_set"]
    ordering = ["-assignment_id"]


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    list_display = ["id", "assignment_id", "dialogue_id", "position", "action", "stored_at", "undone_at"]
    list_filter = ["action"]
    search_fields = ["=dialogue__id", "=assignment__id"]
    raw_id_fields = ["assignment", "dialogue", "candidate_set"]
    ordering = ["-stored_at"]


@admin.register(ExpertReview)
class ExpertReviewAdmin(ReadOnlyAdmin):
    list_display = ["id", "dialogue_id", "reviewer", "verdict", "decided_at", "superseded_at"]
    list_filter = ["verdict"]
    list_select_related = ["reviewer"]
    search_fields = ["=dialogue__id", "=reviewer__username"]
    raw_id_fields = ["dialogue", "reviewer"]


@admin.register(LabellingSettings)
class LabellingSettingsAdmin(ReadOnlyAdmin):
    list_display = ["project", "schema", "overlap", "resolution", "order", "min_seconds", "balance"]
    list_select_related = ["project", "schema"]
    search_fields = ["project__slug"]


@admin.register(Schema)
class SchemaAdmin(ReadOnlyAdmin):
    list_display = ["project", "version", "created_by", "created_at", "used_at"]
    list_select_related = ["project", "created_by"]
    search_fields = ["project__slug"]
    raw_id_fields = ["created_by"]


@admin.register(LabelDraft)
class LabelDraftAdmin(ReadOnlyAdmin):
    """Unsent answers belong to their author: only that and when they were saved is shown."""

    list_display = ["assignment_id", "version", "saved_at"]
    exclude = ["answers", "note"]
    search_fields = ["=assignment__id"]
    raw_id_fields = ["assignment"]
    ordering = ["-assignment_id"]


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = [
        "id",
        "project",
        "annotator",
        "task_id",
        "revision",
        "stage",
        "stored_at",
        "superseded_at",
    ]
    list_filter = ["stage"]
    list_select_related = ["project", "annotator"]
    search_fields = ["=task__dialogue__id", "=annotator__username"]
    raw_id_fields = ["assignment", "task", "annotator", "schema"]
    ordering = ["-stored_at"]


@admin.register(FinalLabel)
class FinalLabelAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "dialogue_id", "origin", "decided_by", "decided_at", "superseded_at"]
    list_filter = ["origin"]
    list_select_related = ["project", "decided_by"]
    search_fields = ["=dialogue__id"]
    raw_id_fields = ["task", "dialogue", "schema", "decided_by"]


@admin.register(Workload)
class WorkloadAdmin(ReadOnlyAdmin):
    list_display = ["project", "annotator", "taken"]
    list_select_related = ["project", "annotator"]
    search_fields = ["project__slug", "=annotator__username"]
    raw_id_fields = ["annotator"]
