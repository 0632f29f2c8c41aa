"""Which model replies, and the queue of turns that wait for candidates."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from dialogues.models import CandidateSet, Dialogue
from projects.models import Project
from projects.transitions import Moves


class BackendKind(models.TextChoices):
    HF = "generation.backends.hf.HFBackend", _("Local model (transformers)")
    OPENAI = "generation.backends.openai.OpenAIBackend", _("OpenAI-compatible server")
    SCRIPTED = "generation.backends.scripted.ScriptedBackend", _("Scripted replies")


class Generator(models.Model):
    """A model that writes candidates. Secrets are not stored: options name the environment variable that holds them.

    project: whose trained model it is; None for those that administrators add for every project. offered_to: other
    projects whose managers have not answered yet. shared_with: other projects that may use it too.
    """

    slug = models.SlugField(_("name"), max_length=80, unique=True)
    backend = models.CharField(_("backend"), max_length=60, choices=BackendKind)
    options = models.JSONField(_("options"), default=dict, blank=True)
    project = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.PROTECT, related_name="generators"
    )
    offered_to = models.ManyToManyField(Project, blank=True, related_name="offered_generators")
    shared_with = models.ManyToManyField(Project, blank=True, related_name="shared_generators")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class RequestState(models.TextChoices):
    QUEUED = "queued", _("Waiting")
    RUNNING = "running", _("Being generated")
    DONE = "done", _("Ready")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


MOVES: Moves = {
    RequestState.QUEUED: {RequestState.RUNNING, RequestState.CANCELLED, RequestState.FAILED},
    # A lost worker's request goes back to the queue.
    RequestState.RUNNING: {
        RequestState.DONE,
        RequestState.FAILED,
        RequestState.QUEUED,
        RequestState.CANCELLED,
    },
    RequestState.FAILED: {RequestState.QUEUED},
    RequestState.CANCELLED: {RequestState.QUEUED},
    RequestState.DONE: frozenset(),
}


class Priority(models.IntegerChoices):
    NOW = 0, _("Somebody waits")
    AHEAD = 10, _("Ahead of a resting draft")


class CandidateOrder(models.TextChoices):
    RANDOM = "random", _("Random")
    BEST = "best", _("Best first")


class CandidateRequest(models.Model):
    """A request for the candidates of one turn, identified by (dialogue, context_hash, ordinal).

    draft: for a request ahead of time, the unsent text that follows the stored utterances. persona: sentences about who
    replies. second_generator: writes half of the candidates if the project compares two models. order, shows_scores,
    one_script: the project's settings at the time. ordinal: 0 for the first set of a turn, one more whenever new
    candidates are requested. lease_until: a running request that its worker has not renewed by then is lost.
    not_before: when a queued request that failed for a passing reason may run again. preferred_worker: the one that
    keeps the dialogue's encoded context; others leave the request to it until preferred_until.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="candidate_requests")
    generator = models.ForeignKey(Generator, null=True, on_delete=models.PROTECT, related_name="+")
    second_generator = models.ForeignKey(Generator, null=True, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()
    context_hash = models.CharField(max_length=64)
    ordinal = models.PositiveSmallIntegerField(default=0)
    draft = models.TextField(blank=True)
    persona = models.JSONField(default=list)
    count = models.PositiveSmallIntegerField(default=7)
    sampling = models.JSONField(default=dict)
    seed = models.BigIntegerField()
    order = models.CharField(max_length=6, choices=CandidateOrder, default=CandidateOrder.RANDOM)
    shows_scores = models.BooleanField(default=False)
    one_script = models.BooleanField(default=False, db_default=False)
    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.NOW)
    state = models.CharField(max_length=9, choices=RequestState, default=RequestState.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True)
    preferred_worker = models.CharField(max_length=120, blank=True, db_default="")
    preferred_until = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    remedy = models.TextField(blank=True)
    failures = models.JSONField(
        default=list, help_text=_("Why replies of the set are missing, in plain words")
    )
    candidate_set = models.OneToOneField(
        CandidateSet, null=True, on_delete=models.SET_NULL, related_name="request"
    )
    created_at = models.DateTimeField(default=timezone.now)
    wanted_at = models.DateTimeField(null=True, help_text=_("When an annotator first waited for it"))
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["dialogue", "context_hash", "ordinal"], name="one_request_per_context"
            ),
        ]
        indexes = [
            models.Index(
                fields=["priority", "created_at"], name="request_queue", condition=Q(state="queued")
            ),
            models.Index(fields=["lease_until"], name="request_lease", condition=Q(state="running")),
        ]

    def __str__(self) -> str:
        return f"candidates for {self.dialogue_id}[{self.position}]: {self.state}"
