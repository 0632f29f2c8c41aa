"""Sessions, their turns and their ratings."""

import uuid

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from assessment.sessions.models.participants import Assignment
from assessment.systems.models import System
from dialogues.models import Dialogue, Utterance
from generation.models import CandidateRequest
from projects.transitions import Moves


class Opinion(models.TextChoices):
    """Of a topic (paper, Table 2)."""

    LIKE = "like", _("like")
    AMBIVALENT = "ambivalent", _("ambivalent")
    DISLIKE = "dislike", _("dislike")


class TopicChange(models.TextChoices):
    """Why the topic changed, asked after the chat."""

    CHATBOT = "chatbot", _("The chatbot changed it")
    ME_NEXT = "me_next", _("I changed it, with my next message")
    ME_LAST = "me_last", _("I changed it, with my last message")
    NONE = "none", _("It did not change")


class SessionState(models.TextChoices):
    TOPIC = "topic", _("Topic")
    CHATTING = "chatting", _("Chat")
    RATING = "rating", _("Statements")
    RATED = "rated", _("Rated")
    VOIDED = "voided", _("Voided by a failure of the system")


SESSION_MOVES: Moves = {
    SessionState.TOPIC: {SessionState.CHATTING, SessionState.VOIDED},
    SessionState.CHATTING: {SessionState.RATING, SessionState.VOIDED},
    SessionState.RATING: {SessionState.CHATTING, SessionState.RATED},
    SessionState.RATED: frozenset(),
    SessionState.VOIDED: frozenset(),
}


class Session(models.Model):
    """One conversation of a participant with a hidden system, and what they think of it.

    place: 1, 2, … in the assignment. attempt: 0, or more for the replacement of a voided session of that place.
    dialogue: the texts, stored as they come; None until the chat begins, and for imported ratings without texts.
    topic, opinion: those in force now; each turn keeps its own. bot_opinion, topic_change: asked after the chat.
    service_session: what a conversational HTTP service calls the conversation; empty again when it was ended there.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="sessions")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="sessions")
    place = models.PositiveSmallIntegerField()
    attempt = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=8, choices=SessionState, default=SessionState.TOPIC)
    dialogue = models.OneToOneField(
        Dialogue, null=True, on_delete=models.PROTECT, related_name="assessment_session"
    )
    ice_breaker = models.TextField(blank=True)
    topic = models.CharField(max_length=500, blank=True)
    opinion = models.CharField(max_length=10, choices=Opinion, blank=True)
    bot_opinion = models.CharField(max_length=10, choices=Opinion, blank=True)
    topic_change = models.CharField(max_length=7, choices=TopicChange, blank=True)
    input_count = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    rated_at = models.DateTimeField(null=True)
    service_session = models.CharField(max_length=500, blank=True)
    void_reason = models.TextField(blank=True, help_text=_("Why it was voided, for managers"))

    class Meta:
        ordering = ["assignment_id", "place", "attempt"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "place", "attempt"], name="one_session_per_place"),
        ]
        indexes = [
            models.Index(fields=["system", "state"], name="session_system"),
            models.Index(fields=["id"], name="session_open_at_service", condition=~Q(service_session="")),
        ]

    def __str__(self) -> str:
        return f"session {self.place} of assignment {self.assignment_id}"


class TurnState(models.TextChoices):
    WAITING = "waiting", _("Waiting for the reply")
    CALLING = "calling", _("The system is being asked")
    REPLIED = "replied", _("Replied")
    FAILED = "failed", _("Failed")


TURN_MOVES: Moves = {
    TurnState.WAITING: {TurnState.CALLING, TurnState.REPLIED, TurnState.FAILED},
    # A lost worker's turn, or a failure that may pass, goes back.
    TurnState.CALLING: {TurnState.WAITING, TurnState.REPLIED, TurnState.FAILED},
    TurnState.REPLIED: frozenset(),
    TurnState.FAILED: frozenset(),
}


class Turn(models.Model):
    """One input of the participant and the reply of the system. The browser makes the id, so that a repeat is found.

    topic, opinion: in force when the input was sent. request: of a system that is a model of this server.
    attempts: calls of the system; losses: how many of them were lost with their worker. lease_until: of a waiting turn,
    when its message is taken for lost. asked_at: the first call of the system; latency_ms: from then to the whole
    reply. visible_at: when the participant may see it.
    writing: {"typing_ms", "pasted" (characters), "left_page" (times)}. trace: what the connector logs; of a degraded
    reply the source dialogue and text and the replaced span; {"identity_words"} that the reply contains.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField()
    input = models.OneToOneField(Utterance, on_delete=models.PROTECT, related_name="+")
    reply = models.OneToOneField(Utterance, null=True, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=7, choices=TurnState, default=TurnState.WAITING)
    topic = models.CharField(max_length=500, blank=True)
    opinion = models.CharField(max_length=10, choices=Opinion, blank=True)
    seed = models.BigIntegerField()
    attempts = models.PositiveSmallIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(null=True)
    request = models.ForeignKey(CandidateRequest, null=True, on_delete=models.SET_NULL, related_name="+")
    error = models.TextField(blank=True)
    latency_ms = models.PositiveIntegerField(null=True)
    sent_at = models.DateTimeField(default=timezone.now)
    replied_at = models.DateTimeField(null=True)
    visible_at = models.DateTimeField(null=True)
    writing = models.JSONField(default=dict)
    trace = models.JSONField(default=dict)

    class Meta:
        ordering = ["session_id", "number"]
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="one_turn_per_number")]
        indexes = [
            models.Index(
                fields=["lease_until"], name="turn_waiting", condition=Q(state__in=["waiting", "calling"])
            ),
            models.Index(fields=["request"], name="turn_request", condition=Q(request__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"turn {self.number} of session {self.session_id}"


class Rating(models.Model):
    """One slider value of one session, from 0 (strongly disagree) to 100 (strongly agree), not reversed."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="ratings")
    statement = models.CharField(max_length=40)
    value = models.FloatField(validators=[MinValueValidator(0), MaxValueValidator(100)])

    class Meta:
        ordering = ["session_id", "id"]
        constraints = [
            models.UniqueConstraint(fields=["session", "statement"], name="one_rating_per_statement"),
            models.CheckConstraint(condition=Q(value__gte=0) & Q(value__lte=100), name="rating_range"),
        ]

    def __str__(self) -> str:
        return f"{self.statement}: {self.value}"
