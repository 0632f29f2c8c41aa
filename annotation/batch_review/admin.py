"""Batches, their samples, judgements and appeals."""

from django.contrib import admin

from annotation.batch_review.models import Appeal, BatchPlan, Judgement, LaterJudgement, Sample, SampleItem
from annotation.tasks.models.rounds import Batch, Round
from common.read_only_admin import ReadOnlyAdmin


@admin.register(BatchPlan)
class BatchPlanAdmin(ReadOnlyAdmin):
    list_display = ["project", "batch_size", "sample_size", "overall_percent", "class_percent", "question"]
    list_select_related = ["project"]
    search_fields = ["project__slug"]


@admin.register(Batch)
class BatchAdmin(ReadOnlyAdmin):
    list_display = ["id", "project", "number", "size", "created_at"]
    list_select_related = ["project"]
    search_fields = ["project__slug"]
    ordering = ["-id"]


@admin.register(Round)
class RoundAdmin(ReadOnlyAdmin):
    list_display = [
        "id",
        "project",
        "batch_id",
        "number",
        "group",
        "state",
        "sealed_at",
        "ended_at",
        "ended_by",
    ]
    list_filter = ["state"]
    list_select_related = ["project", "ended_by"]
    search_fields = ["project__slug"]
    raw_id_fields = ["batch", "ended_by"]
    ordering = ["-id"]


@admin.register(Sample)
class SampleAdmin(ReadOnlyAdmin):
    list_display = [
        "id",
        "round_id",
        "seed",
        "population",
        "own",
        "is_blind",
        "is_stratified",
        "drawn_by",
        "drawn_at",
    ]
    list_select_related = ["drawn_by"]
    search_fields = ["round__project__slug"]
    raw_id_fields = ["round", "drawn_by"]
    ordering = ["-drawn_at"]


@admin.register(SampleItem)
class SampleItemAdmin(ReadOnlyAdmin):
    list_display = ["id", "sample_id", "place", "task_id", "label"]
    search_fields = ["=id", "=task__dialogue__id"]
    raw_id_fields = ["sample", "task", "final"]
    ordering = ["-id"]


@admin.register(Judgement)
class JudgementAdmin(ReadOnlyAdmin):
    list_display = ["id", "item_id", "controller", "number", "is_right", "judged_at", "superseded_at"]
    list_filter = ["is_right"]
    list_select_related = ["controller"]
    search_fields = ["=controller__username"]
    raw_id_fields = ["item", "controller"]
    ordering = ["-judged_at"]


@admin.register(LaterJudgement)
class LaterJudgementAdmin(ReadOnlyAdmin):
    list_display = ["id", "item_id", "controller", "is_right", "judged_at"]
    list_filter = ["is_right"]
    list_select_related = ["controller"]
    search_fields = ["=controller__username"]
    raw_id_fields = ["item", "controller"]
    ordering = ["-judged_at"]


@admin.register(Appeal)
class AppealAdmin(ReadOnlyAdmin):
    list_display = ["id", "item_id", "by", "state", "raised_at", "settled_by", "settled_at"]
    list_filter = ["state"]
    list_select_related = ["by", "settled_by"]
    search_fields = ["=by__username"]
    raw_id_fields = ["item", "by", "settled_by"]
    ordering = ["-raised_at"]
