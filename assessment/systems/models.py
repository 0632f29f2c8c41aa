"""The chatbots under test, and the conversations in which they are tried out."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from dialogues.models import Dialogue, Utterance
from generation.models import CandidateRequest, Generator
from projects.models import Project


class Connector(models.TextChoices):
    """How replies of a system are obtained (assessment/systems/connectors)."""

    GENERATOR = "generator", _("Model of this server")
    OPENAI = "openai", _("OpenAI-compatible server")
    HTTP = "http", _("Conversational HTTP service")
    DEGRADED = "degraded", _("Degraded: random, distorted replies")
    IMPORTED = "imported", _("Known from imported ratings only")


class System(models.Model):
    """A chatbot under test. Participants never see its name.

    generator: of the connector `generator`. corpus: the project whose dialogues a degraded system takes its words from.
    options: of the other connectors; secrets are not stored, options name the environment variable that holds them.
    persona: sentences that the system gets before a conversation. sampling: fields of generation.protocol.Sampling.
    identity_words: a reply that contains one of them may tell participants which system it is.
    retired_at: takes part in no further session; what was rated stays.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(_("name"), max_length=80)
    connector = models.CharField(_("connector"), max_length=9, choices=Connector)
    generator = models.ForeignKey(
        Generator, null=True, blank=True, on_delete=models.PROTECT, related_name="+", verbose_name=_("model")
    )
    corpus = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.PROTECT, related_name="+", verbose_name=_("corpus")
    )
    options = models.JSONField(_("options"), default=dict, blank=True)
    persona = models.JSONField(_("persona"), default=list, blank=True)
    sampling = models.JSONField(_("sampling"), default=dict, blank=True)
    identity_words = models.JSONField(_("words that identify it"), default=list, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    retired_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["project_id", "name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="one_system_per_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_degraded(self) -> bool:
        return self.connector == Connector.DEGRADED


class Trial(models.Model):
    """A conversation in which somebody tries a system out. It is not rated and belongs to no run.

    dialogue: its texts, never finished, so that no export and no corpus has them. service_session: what a
    conversational HTTP service calls it. ended_at: another one has begun since.
    """

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="trials")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    dialogue = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="+")
    service_session = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "user"], condition=Q(ended_at=None), name="one_trial_per_person"
            ),
        ]

    def __str__(self) -> str:
        return f"trial {self.pk} of system {self.system_id}"


class TrialState(models.TextChoices):
    WAITING = "waiting", _("Waiting for the reply")
    REPLIED = "replied", _("Replied")
    FAILED = "failed", _("Failed")


class TrialTurn(models.Model):
    """One message of a trial and what the system answered, or why it did not.

    request: of a system that is a model of this server. asked_at: when a worker took it. latency_ms: until the whole
    reply was there. trace: see Turn.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    trial = models.ForeignKey(Trial, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField()
    input = models.OneToOneField(Utterance, on_delete=models.CASCADE, related_name="+")
    reply = models.OneToOneField(Utterance, null=True, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=7, choices=TrialState, default=TrialState.WAITING)
    request = models.ForeignKey(CandidateRequest, null=True, on_delete=models.SET_NULL, related_name="+")
    error = models.TextField(blank=True)
    remedy = models.TextField(blank=True)
    latency_ms = models.PositiveIntegerField(null=True)
    trace = models.JSONField(default=dict)
    sent_at = models.DateTimeField(default=timezone.now)
    asked_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["trial_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["trial", "number"], name="one_trial_turn_per_number"),
        ]

    def __str__(self) -> str:
        return f"turn {self.number} of trial {self.trial_id}"
