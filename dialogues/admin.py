"""Dialogues in the administration pages, read-only. Long lists are not counted."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from dialogues.models import CandidateSet, DeletedDialogue, Dialogue, RefusedRow, Utterance


@admin.register(Dialogue)
class DialogueAdmin(ReadOnlyAdmin):
    list_display = [
        "id",
        "project",
        "origin",
        "state",
        "review_state",
        "split",
        "utterance_count",
        "created_at",
    ]
    list_filter = ["origin", "state", "review_state", "split", "project"]
    list_select_related = ["project"]
    search_fields = ["=external_id"]
    raw_id_fields = ["project", "import_job"]
    ordering = ["-id"]


@admin.register(Utterance)
class UtteranceAdmin(ReadOnlyAdmin):
    list_display = ["id", "dialogue_id", "position", "speaker", "beginning", "action"]
    list_filter = ["action"]
    search_fields = ["=dialogue__id"]
    raw_id_fields = ["dialogue", "candidate_set"]
    ordering = ["-id"]

    @admin.display(description="text")
    def beginning(self, utterance: Utterance) -> str:
        return utterance.text[:80]


@admin.register(CandidateSet)
class CandidateSetAdmin(ReadOnlyAdmin):
    list_display = ["id", "dialogue_id", "position", "model_version", "created_at"]
    search_fields = ["=dialogue__id"]
    raw_id_fields = ["dialogue"]
    ordering = ["-id"]


@admin.register(RefusedRow)
class RefusedRowAdmin(ReadOnlyAdmin):
    list_display = ["id", "job_id", "line", "code"]
    search_fields = ["=job__id"]
    raw_id_fields = ["job"]
    ordering = ["-id"]


@admin.register(DeletedDialogue)
class DeletedDialogueAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "dialogue", "deleted_by", "deleted_at", "reason"]
    list_filter = ["project"]
    list_select_related = ["project", "deleted_by"]
    search_fields = ["=dialogue"]
    raw_id_fields = ["project", "deleted_by", "job"]
    ordering = ["-id"]
