"""Batches of a labelling project and their rounds: dialogues that are labelled, reviewed and accepted together."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from projects.models import Project

USER = settings.AUTH_USER_MODEL


class Batch(models.Model):
    """Dialogues that go through review together. number: from 1 in its project. size: dialogues."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="batches")
    number = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_batch_per_number")]

    def __str__(self) -> str:
        return f"batch {self.number} of {self.project_id}"


class RoundState(models.TextChoices):
    OPEN = "open", _("Being labelled")
    SEALED = "sealed", _("Sealed")
    IN_REVIEW = "in_review", _("In review")
    ACCEPTED = "accepted", _("Accepted")
    RETURNED = "returned", _("Returned")


ROUND_MOVES = {
    RoundState.OPEN: {RoundState.SEALED},
    # Reopened before a sample is drawn, to correct a mistake.
    RoundState.SEALED: {RoundState.OPEN, RoundState.IN_REVIEW},
    RoundState.IN_REVIEW: {RoundState.ACCEPTED, RoundState.RETURNED},
    # Undone, for a few minutes after the verdict.
    RoundState.ACCEPTED: {RoundState.IN_REVIEW},
    RoundState.RETURNED: {RoundState.IN_REVIEW},
}


class Round(models.Model):
    """One pass of a batch: labelled by `group` (empty: anybody) or by a machine, then judged.

    A returned round is followed by another. machine: name of the model that labelled it; empty: people did.
    figures: of the verdict, as they were then: {"right", "judged", "sample", "share", "classes": […]}.
    """

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="rounds")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rounds")
    number = models.PositiveSmallIntegerField(default=1)
    group = models.CharField(max_length=40, blank=True)
    machine = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=9, choices=RoundState, default=RoundState.OPEN)
    opened_at = models.DateTimeField(default=timezone.now)
    sealed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(USER, null=True, on_delete=models.SET_NULL, related_name="+")
    decision_id = models.UUIDField(null=True, unique=True)
    reason = models.TextField(blank=True)
    figures = models.JSONField(default=dict)

    class Meta:
        ordering = ["batch_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "number"], name="one_round_per_number"),
            models.UniqueConstraint(
                fields=["batch"], condition=~Q(state="returned"), name="one_live_round_per_batch"
            ),
        ]
        indexes = [models.Index(fields=["project", "state"], name="round_states")]

    def __str__(self) -> str:
        return f"round {self.number} of batch {self.batch_id}"
