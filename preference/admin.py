"""Exports in the administration pages."""

from django.contrib import admin

from accounts.read_only_admin import ReadOnlyAdmin
from preference.models import Export


@admin.register(Export)
class ExportAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "format", "bytes", "created_at"]
    list_filter = ["format", "project"]
    list_select_related = ["project"]
    raw_id_fields = ["job"]
