"""Exports, trainings and models in the administration pages: to look, not to touch."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.evaluation.models import Evaluation
from preference.registry.models import Promotion, RegisteredModel, TrainingRun


@admin.register(Export)
class ExportAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "format", "bytes", "created_at"]
    list_filter = ["format", "project"]
    list_select_related = ["project"]
    raw_id_fields = ["job"]


@admin.register(TrainingRun)
class TrainingRunAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "number", "recipe", "base", "snapshot", "created_by", "created_at"]
    list_filter = ["recipe", "project"]
    list_select_related = ["project", "snapshot", "created_by"]
    raw_id_fields = ["job", "snapshot", "parent"]
    search_fields = ["=id", "project__slug", "base"]


@admin.register(RegisteredModel)
class RegisteredModelAdmin(ReadOnlyAdmin):
    list_display = ["slug", "project", "parent", "base", "version", "bytes", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project", "parent"]
    raw_id_fields = ["training_run", "snapshot", "parent"]
    search_fields = ["slug", "version", "=sha256"]


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "model", "base", "snapshot", "split", "created_at"]
    list_filter = ["split", "project"]
    list_select_related = ["project", "model", "snapshot"]
    raw_id_fields = ["job", "snapshot", "model"]


@admin.register(Promotion)
class PromotionAdmin(ReadOnlyAdmin):
    list_display = ["project", "before", "after", "actor", "reason", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project", "before", "after", "actor"]


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "name", "bytes", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project"]
    raw_id_fields = ["job"]
