"""Exports and snapshots in the administration pages, read-only."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot


@admin.register(Export)
class ExportAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "format", "bytes", "created_at"]
    list_filter = ["format", "project"]
    list_select_related = ["project"]
    raw_id_fields = ["job"]


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "name", "bytes", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project"]
    raw_id_fields = ["job"]
