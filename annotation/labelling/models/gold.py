"""Gold dialogues: dialogues with known correct answers."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.labelling.models.labels import Schema
from annotation.tasks.models.work import Task
from dialogues.models import Dialogue
from projects.models import Project

USER = settings.AUTH_USER_MODEL


class GoldDialogue(models.Model):
    """A dialogue with its correct answers. Its task is not assigned to anybody until the gold dialogue is retired.

    remarks: {"quality": "why", "3/nugget": "why"}. withheld: open slots taken from its task and returned at retirement.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="gold")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="gold")
    task = models.ForeignKey(Task, null=True, on_delete=models.SET_NULL, related_name="gold")
    schema = models.ForeignKey(Schema, on_delete=models.PROTECT, related_name="+")
    answers = models.JSONField()
    explanation = models.TextField(blank=True)
    remarks = models.JSONField(default=dict)
    withheld = models.PositiveSmallIntegerField(default=0)
    made_by = models.ForeignKey(USER, null=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["dialogue"], condition=Q(retired_at=None), name="one_live_gold")
        ]

    def __str__(self) -> str:
        return f"gold {self.dialogue_id}"
