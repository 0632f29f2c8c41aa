"""Expert reviews in Django's admin, read-only."""

from django.contrib import admin

from annotation.expert_review.models import ExpertReview
from common.read_only_admin import ReadOnlyAdmin


@admin.register(ExpertReview)
class ExpertReviewAdmin(ReadOnlyAdmin):
    list_display = ["id", "dialogue_id", "reviewer", "verdict", "decided_at", "superseded_at"]
    list_filter = ["verdict"]
    list_select_related = ["reviewer"]
    search_fields = ["=dialogue__id", "=reviewer__username"]
    raw_id_fields = ["dialogue", "reviewer"]
