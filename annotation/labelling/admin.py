"""Admin pages for labelling: schemas, submissions and final labels."""

from django.contrib import admin

from annotation.labelling.models.labels import (
    FinalLabel,
    LabelDraft,
    LabellingSettings,
    Schema,
    ShownLabels,
    Submission,
)
from annotation.labelling.models.statistics import LabelStatistics
from annotation.tasks.models.work import Workload
from common.read_only_admin import ReadOnlyAdmin


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
    """Unsent answers belong to their author, so only their existence and save time are shown."""

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


@admin.register(ShownLabels)
class ShownLabelsAdmin(ReadOnlyAdmin):
    list_display = ["task_id", "person", "shown_at"]
    list_select_related = ["person"]
    search_fields = ["=task__dialogue__id", "=person__username"]
    raw_id_fields = ["task", "person"]


@admin.register(Workload)
class WorkloadAdmin(ReadOnlyAdmin):
    list_display = ["project", "annotator", "taken"]
    list_select_related = ["project", "annotator"]
    search_fields = ["project__slug", "=annotator__username"]
    raw_id_fields = ["annotator"]


@admin.register(LabelStatistics)
class LabelStatisticsAdmin(ReadOnlyAdmin):
    """The numbers themselves are shown on the project's statistics page."""

    list_display = ["project", "submissions", "final_labels", "computed_at", "seconds"]
    list_select_related = ["project"]
    exclude = ["numbers"]
    search_fields = ["project__slug"]
