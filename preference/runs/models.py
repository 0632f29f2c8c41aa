"""Training runs."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from jobs.models import Job
from preference.data.models.snapshots import Snapshot
from preference.registry.models import ModelKind, RegisteredModel
from projects.models import Project


class TrainingRun(models.Model):
    """One training run; its state is that of its job.

    id: the same as its job's. number: within the project. parent, base: the starting point, as in RegisteredModel.
    options: of an assessor {"question", "models"}, else empty. recipe, changes: the recipe's name and the settings that
    differ from it. processes: that divide every step; None: one for each GPU, on a CPU one. folder: relative to
    MODELS_ROOT; empty after removal. layout: of the trainer's rows. message: notes and warnings of the trainer. latest:
    the newest line of progress.jsonl ({"step", "steps", "epoch", "loss", "nll", "ranking", "lr", "seconds",
    "eta_seconds"}; only joint trainings have nll and ranking, and "valid" where the step was validated).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="training_runs")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="training_run")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=8, choices=ModelKind, default=ModelKind.JOINT)
    snapshot = models.ForeignKey(Snapshot, on_delete=models.RESTRICT, related_name="training_runs")
    parent = models.ForeignKey(
        RegisteredModel, null=True, on_delete=models.RESTRICT, related_name="trainings"
    )
    base = models.CharField(max_length=300)
    recipe = models.CharField(max_length=40)
    changes = models.JSONField(default=dict)
    options = models.JSONField(default=dict)
    is_lora = models.BooleanField(default=False)
    seed = models.PositiveBigIntegerField(default=1)
    processes = models.PositiveSmallIntegerField(null=True)
    folder = models.CharField(max_length=300, blank=True)
    layout = models.CharField(max_length=40, blank=True)
    message = models.TextField(blank=True)
    latest = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="one_training_of_a_number"),
        ]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="training_newest")]

    def __str__(self) -> str:
        return f"training {self.number} of {self.project_id}"
