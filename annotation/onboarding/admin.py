"""Admission tests, threads, and which guidelines people have read."""

from django.contrib import admin

from annotation.labelling.models.gold import GoldDialogue
from annotation.onboarding.models import (
    Admission,
    AdmissionItem,
    AdmissionTest,
    AdmissionTry,
    GuidelinesRead,
    Message,
    Thread,
    ThreadSeen,
)
from common.read_only_admin import ReadOnlyAdmin


@admin.register(AdmissionTest)
class AdmissionTestAdmin(ReadOnlyAdmin):
    list_display = ["project", "is_on", "pass_percent", "unit", "tries", "items", "edition"]
    list_select_related = ["project"]
    search_fields = ["project__slug"]


@admin.register(GoldDialogue)
class GoldDialogueAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "dialogue_id", "made_by", "made_at", "retired_at"]
    list_select_related = ["project", "made_by"]
    search_fields = ["=dialogue__id", "project__slug"]
    raw_id_fields = ["dialogue", "task", "schema", "made_by"]


@admin.register(AdmissionTry)
class AdmissionTryAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "annotator", "edition", "state", "percent", "started_at", "ended_at"]
    list_filter = ["state"]
    list_select_related = ["project", "annotator"]
    search_fields = ["project__slug", "=annotator__username"]
    raw_id_fields = ["annotator"]


@admin.register(AdmissionItem)
class AdmissionItemAdmin(ReadOnlyAdmin):
    list_display = ["id", "attempt_id", "place", "gold_id", "compared", "answered_at"]
    search_fields = ["=id", "=gold__dialogue__id"]
    raw_id_fields = ["attempt", "gold"]
    ordering = ["-id"]


@admin.register(Admission)
class AdmissionAdmin(ReadOnlyAdmin):
    list_display = ["project", "annotator", "edition", "extra_tries", "admitted_at", "admitted_by"]
    list_select_related = ["project", "annotator", "admitted_by"]
    search_fields = ["project__slug", "=annotator__username"]
    raw_id_fields = ["annotator", "admitted_by"]
    ordering = ["-id"]


@admin.register(Thread)
class ThreadAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "dialogue_id", "position", "asker", "state", "is_faq", "moved_at"]
    list_filter = ["state"]
    list_select_related = ["project", "asker"]
    search_fields = ["=dialogue__id", "=asker__username"]
    raw_id_fields = ["dialogue", "asker"]


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ["id", "thread_id", "kind", "author", "written_at"]
    list_filter = ["kind"]
    list_select_related = ["author"]
    search_fields = ["=author__username"]
    raw_id_fields = ["thread", "author"]
    ordering = ["-written_at"]


@admin.register(ThreadSeen)
class ThreadSeenAdmin(ReadOnlyAdmin):
    list_display = ["thread_id", "user", "seen_at"]
    list_select_related = ["user"]
    search_fields = ["=user__username"]
    raw_id_fields = ["thread", "user"]
    ordering = ["-id"]


@admin.register(GuidelinesRead)
class GuidelinesReadAdmin(ReadOnlyAdmin):
    list_display = ["project", "user", "version", "read_at"]
    list_select_related = ["project", "user"]
    search_fields = ["project__slug", "=user__username"]
    raw_id_fields = ["user"]
    ordering = ["-id"]
