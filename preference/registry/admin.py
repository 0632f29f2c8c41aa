"""Trained models and promotions in the administration pages, read-only."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.registry.models import Promotion, RegisteredModel


@admin.register(RegisteredModel)
class RegisteredModelAdmin(ReadOnlyAdmin):
    list_display = ["slug", "project", "parent", "base", "version", "bytes", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project", "parent"]
    raw_id_fields = ["training_run", "snapshot", "parent"]
    search_fields = ["slug", "version", "=sha256"]


@admin.register(Promotion)
class PromotionAdmin(ReadOnlyAdmin):
    list_display = ["project", "before", "after", "actor", "reason", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project", "before", "after", "actor"]
