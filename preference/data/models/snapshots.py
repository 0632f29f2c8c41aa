"""Snapshots: frozen data sets."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from jobs.models import Job
from projects.models import Project

LABELLED = "labelled/"  # what the schema version of snapshots with final labels begins with


class Snapshot(models.Model):
    """A frozen selection of a project's dialogues, in a folder that no later work changes.

    id: the same as its job's. filters: as of an export. seed: default for everything drawn from it. path: of its
    folder, relative to storage.snapshots_root(); empty before it exists and after its removal. bytes, sha256: of
    its dialogues.jsonl. schema_version: diamante/N of dialogues written with candidates, labelled/N of final
    labels. card: statistics (formats.card or formats.labelled_card), empty until written. pushed: one {"repo_id",
    "url", "commit", "private", "at"} for every push to a Hub. deleted: ids of the tombstones of its dialogues that
    were deleted since; nobody gets its files any more.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="snapshots")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="snapshot")
    name = models.CharField(max_length=120)
    filters = models.JSONField(default=dict)
    seed = models.BigIntegerField(default=0)
    schema_version = models.CharField(max_length=20, blank=True)
    path = models.CharField(max_length=300, blank=True)
    bytes = models.BigIntegerField(null=True)
    sha256 = models.CharField(max_length=64, blank=True)
    card = models.JSONField(default=dict)
    pushed = models.JSONField(default=list)
    deleted = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="snapshot_newest")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_labelled(self) -> bool:
        """Whether it holds final labels of a labelling project."""
        return self.schema_version.startswith(LABELLED)
