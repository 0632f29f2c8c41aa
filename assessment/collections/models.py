"""Collections: dialogues of several systems, made for people to rate (Diamante §4.2)."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from assessment.sessions.models.runs import Run
from assessment.systems.models import System
from dialogues.models import Dialogue
from jobs.models import Job
from projects.models import Project


class CollectionKind(models.TextChoices):
    STATIC = "static", _("Static: each system answers the same contexts")
    SELF_CHAT = "self_chat", _("Self-chat: each system plays both sides")
    HUMAN_BOT = "human_bot", _("Human-bot: conversations of participants with systems")


class Collection(models.Model):
    """One job that makes dialogues of several systems and hands them to the raters of a labelling project.

    target: the labelling project. source: whose dialogues give contexts and openings. run: of the participants whose
    conversations are rated. rounds: of a self-chat. seed: of the choice of contexts, drawn by the server.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="collections")
    target = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(_("kind"), max_length=9, choices=CollectionKind)
    source = models.ForeignKey(Project, null=True, on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="collections")
    rounds = models.PositiveSmallIntegerField(default=0)
    seed = models.BigIntegerField()
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at"], name="collection_newest")]

    def __str__(self) -> str:
        return f"{self.kind} {self.created_at:%Y-%m-%d %H:%M}"


class CollectedState(models.TextChoices):
    PENDING = "pending", _("Not made yet")
    DONE = "done", _("Made")
    MISSING = "missing", _("Missing: the system failed")


class CollectedDialogue(models.Model):
    """One dialogue of a collection: what a system (None: the human reply) made of a context.

    number: of the context or opening, from 1; the same number is the same context for every system. context: list of
    [speaker, text]. draft: the system's own copy of the conversation, in the assessment project, with the speakers
    "A" and "B". dialogue: the copy that raters see, in the target project. error: why it is missing.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="dialogues")
    number = models.PositiveIntegerField()
    system = models.ForeignKey(System, null=True, on_delete=models.PROTECT, related_name="+")
    context = models.JSONField(default=list)
    state = models.CharField(max_length=7, choices=CollectedState, default=CollectedState.PENDING)
    draft = models.ForeignKey(Dialogue, null=True, on_delete=models.SET_NULL, related_name="+")
    dialogue = models.OneToOneField(
        Dialogue, null=True, on_delete=models.SET_NULL, related_name="collected_dialogue"
    )
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["collection_id", "number", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "number", "system"],
                nulls_distinct=False,
                name="one_collected_dialogue_per_system",
            ),
        ]
        indexes = [
            models.Index(fields=["collection"], name="collected_pending", condition=Q(state="pending")),
        ]

    def __str__(self) -> str:
        return f"dialogue {self.number} of {self.collection_id}"
