"""Exported files."""

import uuid

from django.db import models
from django.utils import timezone

from jobs.models import Job
from projects.models import Project


class Export(models.Model):
    """A finished or running export; the file lies under FILES_ROOT with its manifest beside it.

    filters: what was asked for (format, splits, include_unreviewed …). manifest: rows, SHA-256, schema version,
    filters, seed and code version of the finished file.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="exports")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="export")
    format = models.CharField(max_length=20)
    filters = models.JSONField(default=dict)
    path = models.CharField(max_length=300, blank=True)
    bytes = models.BigIntegerField(null=True)
    manifest = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"export {self.id}"
