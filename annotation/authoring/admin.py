"""Authoring in Django's admin, read-only."""

from django.contrib import admin

from annotation.authoring.models import AuthoringSettings, Draft, Topic, Turn
from common.read_only_admin import ReadOnlyAdmin


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


@admin.register(Draft)
class DraftAdmin(ReadOnlyAdmin):
    """An unsent text belongs to its author: the admin shows only that it exists and when it was saved."""

    list_display = ["assignment_id", "position", "version", "saved_at"]
    exclude = ["text"]
    search_fields = ["=assignment__id"]
    raw_id_fields = ["assignment", "candidate_set"]
    ordering = ["-assignment_id"]


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    list_display = ["id", "assignment_id", "dialogue_id", "position", "stored_at", "undone_at"]
    search_fields = ["=dialogue__id", "=assignment__id"]
    raw_id_fields = ["assignment", "dialogue", "utterance", "candidate_set"]
    ordering = ["-stored_at"]
