"""Topics and tagging runs in the administration pages, read-only."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.topics.models import TaggingRun, TopicList


@admin.register(TopicList)
class TopicListAdmin(ReadOnlyAdmin):
    list_display = ["project"]
    list_select_related = ["project"]


@admin.register(TaggingRun)
class TaggingRunAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "tagger", "model", "tagged", "unanswered", "removed", "created_at"]
    list_filter = ["tagger", "project"]
    list_select_related = ["project", "model"]
    raw_id_fields = ["job", "model", "created_by"]
