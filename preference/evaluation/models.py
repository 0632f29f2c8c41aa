"""Evaluations of models."""

import uuid

from django.db import models
from django.utils import timezone

from dialogues.models import Split
from jobs.models import Job
from preference.data.models.snapshots import Snapshot
from preference.registry.models import RegisteredModel
from projects.models import Project


class Evaluation(models.Model):
    """How well a model ranks people's replies among its candidates, on one split of one snapshot.

    id: the same as its job's. model: None for an unregistered base model, which `base` names. report: of
    preference.training.joint.evaluation; empty until it is done.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="evaluations")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="evaluation")
    model = models.ForeignKey(
        RegisteredModel, null=True, on_delete=models.CASCADE, related_name="evaluations"
    )
    base = models.CharField(max_length=300, blank=True)
    snapshot = models.ForeignKey(Snapshot, on_delete=models.RESTRICT, related_name="evaluations")
    split = models.CharField(max_length=5, choices=Split, default=Split.TEST)
    report = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="evaluation_newest")]

    def __str__(self) -> str:
        return f"evaluation of {self.model_id or self.base} on {self.snapshot_id} ({self.split})"
