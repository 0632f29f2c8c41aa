"""Exports, snapshots and Hub tokens in the administration pages, read-only."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.data.models.exports import Export
from preference.data.models.hub_tokens import HubToken
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


@admin.register(HubToken)
class HubTokenAdmin(ReadOnlyAdmin):
    """Which projects have one, and who set it; not the encrypted text."""

    list_display = ["project", "set_by", "set_at"]
    list_select_related = ["project", "set_by"]
    exclude = ["sealed"]
