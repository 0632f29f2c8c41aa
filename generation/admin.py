"""Generation in the administration pages, read-only. Models are set up through the API."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from generation.models import CandidateRequest, Generator


@admin.register(Generator)
class GeneratorAdmin(ReadOnlyAdmin):
    list_display = ["slug", "backend", "options", "created_at"]
    list_filter = ["backend"]
    search_fields = ["slug"]


@admin.register(CandidateRequest)
class CandidateRequestAdmin(ReadOnlyAdmin):
    list_display = [
        "id",
        "dialogue_id",
        "position",
        "ordinal",
        "state",
        "priority",
        "attempts",
        "worker",
        "created_at",
    ]
    list_filter = ["state", "priority", "generator"]
    search_fields = ["=dialogue__id", "=worker"]
    raw_id_fields = ["dialogue", "candidate_set"]
