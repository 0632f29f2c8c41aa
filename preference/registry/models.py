"""Trained models, and which of them a project uses."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from generation.models import Generator
from preference.data.models.snapshots import Snapshot
from projects.models import Project


class ModelKind(models.TextChoices):
    """What a trained model does. Only joint models write candidates."""

    JOINT = "joint", _("Reply model")
    PAIREVAL = "paireval", _("PairEval")
    ASSESSOR = "assessor", _("Assessor")
    TOPICS = "topics", _("Topic model")


class RegisteredModel(models.Model):
    """A trained model and its origin.

    training_run: None for a model that was trained elsewhere; its snapshot is None if the project has none with the
    data that it learned from. parent: the registered model that training started from, None: `base`, an unregistered
    folder or hub id. config: training.json of the trainer (recipe, data, base, layout, versions). metrics: of its last
    step. report: of an assessor, report.json of its trainer with "chosen", the name of the registered one; of a model
    trained elsewhere {"evaluation"}, the report that came with it, if it is about data without a snapshot here.
    folder: relative to MODELS_ROOT; empty after removal. files: bytes by name. sha256: over all files.
    version: recorded with its candidates. fault, remedy: why it could not be loaded at registration; usually empty.
    generator: serves it to projects; kept after removal, because candidates and promotions refer to it. None for
    evaluators.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="registered_models")
    kind = models.CharField(max_length=8, choices=ModelKind, default=ModelKind.JOINT)
    slug = models.SlugField(_("name"), max_length=80, unique=True)
    note = models.TextField(_("note"), blank=True)
    parent = models.ForeignKey("self", null=True, on_delete=models.RESTRICT, related_name="children")
    base = models.CharField(max_length=300)
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.RESTRICT, related_name="models")
    training_run = models.OneToOneField(
        "preference.TrainingRun", null=True, on_delete=models.RESTRICT, related_name="model"
    )
    config = models.JSONField(default=dict)
    metrics = models.JSONField(default=dict)
    report = models.JSONField(default=dict)
    code_version = models.CharField(max_length=80, blank=True)
    folder = models.CharField(max_length=300, blank=True)
    files = models.JSONField(default=dict)
    bytes = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    version = models.CharField(max_length=200, blank=True)
    fault = models.TextField(blank=True)
    remedy = models.TextField(blank=True)
    generator = models.OneToOneField(
        Generator, null=True, on_delete=models.PROTECT, related_name="registered_model"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(training_run=None) | models.Q(snapshot__isnull=False),
                name="model_trained_here_has_snapshot",
            ),
        ]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="model_newest")]

    def __str__(self) -> str:
        return self.slug

    @property
    def deleted_dialogues(self) -> int:
        """Dialogues of its snapshot that were deleted after the training."""
        return len(self.snapshot.deleted) if self.snapshot else 0

    @property
    def writes_replies(self) -> bool:
        return self.kind == ModelKind.JOINT


class Promotion(models.Model):
    """A change of a project's model. before, after: None is the server's own model.

    id: from the client. undoes: the promotion that this one rolls back.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="promotions")
    before = models.ForeignKey(Generator, null=True, on_delete=models.PROTECT, related_name="+")
    after = models.ForeignKey(Generator, null=True, on_delete=models.PROTECT, related_name="+")
    undoes = models.OneToOneField("self", null=True, on_delete=models.CASCADE, related_name="undone_by")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="promotion_newest")]

    def __str__(self) -> str:
        return f"{self.before_id} → {self.after_id} in {self.project_id}"
