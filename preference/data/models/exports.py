"""Exported files."""

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from jobs.models import Job
from preference.data.models.snapshots import Snapshot
from projects.models import Project


class FormatName(models.TextChoices):
    """Names of the export formats; preference.data.formats.catalogue describes them."""

    DIAMANTE = "diamante", _("Dialogues with candidates and actions")
    QUADRUPLES = "quadruples", _("Context, human, model and random reply")
    SFT = "sft", _("Prompt and completion")
    PREFERENCE = "preference", _("Prompt, chosen and rejected reply")
    REWARD = "reward", _("Chosen and rejected conversation")
    KTO = "kto", _("Prompt, completion and whether it is wanted")
    JUDGEMENTS = "judgements", _("Judgements")
    DIALEVAL = "dialeval", _("Helpdesk dialogues with annotations")
    DIQAD = "diqad", _("Quality labels")
    ASSESSMENT = "assessment", _("Ratings of a run")


class FileType(models.TextChoices):
    JSONL = "jsonl", _("JSON Lines")
    PARQUET = "parquet", _("Parquet")


class LeadingTurns(models.TextChoices):
    """What becomes of the assistant's turns before the first of the user, in the formats of TRL."""

    KEEP = "keep", _("Keep them")
    MERGE = "merge", _("Merge them into the first turn of the user")
    DROP = "drop", _("Leave them out")


class Export(models.Model):
    """A running or finished export; the file is under FILES_ROOT with its manifest beside it.

    id: the same as its job's. filters: requested splits, include_unreviewed … snapshot: its source, None: the project.
    draws: as DrawSettings stores them. manifest: rows, SHA-256, schema version, filters, seed and code version of
    the finished file. path: relative to storage.exports_root(); empty before the file exists and after its removal.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="exports")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="export")
    format = models.CharField(max_length=20, choices=FormatName)
    file_type = models.CharField(max_length=7, choices=FileType, default=FileType.JSONL)
    filters = models.JSONField(default=dict)
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="exports")
    draws = models.JSONField(default=dict)
    path = models.CharField(max_length=300, blank=True)
    bytes = models.BigIntegerField(null=True)
    manifest = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="export_newest")]

    def __str__(self) -> str:
        return f"export {self.id}"
