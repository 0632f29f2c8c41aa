"""How people learn the work: admission tests, threads about dialogues, and which guidelines they have read."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.labelling.models.gold import GoldDialogue
from annotation.tasks.models.work import between
from dialogues.models import Dialogue
from projects.models import Project

USER = settings.AUTH_USER_MODEL


class Unit(models.TextChoices):
    """What the pass mark counts. One slip in a dialogue of fifty nuggets is one wrong answer, or one wrong dialogue."""

    ANSWERS = "answers", _("of the compared answers")
    DIALOGUES = "dialogues", _("of the dialogues, each wholly right")


class Feedback(models.TextChoices):
    EACH = "each", _("after each dialogue")
    END = "end", _("at the end")


class AdmissionTest(models.Model):
    """What a person passes before their first task (Diamante, Appendix B.2). edition: older ones no longer admit."""

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="admission_test", primary_key=True
    )
    is_on = models.BooleanField(_("annotators need the test"), default=False)
    pass_percent = models.PositiveSmallIntegerField(
        _("pass mark, in percent"), default=80, validators=between(1, 100)
    )
    unit = models.CharField(_("counted"), max_length=9, choices=Unit, default=Unit.ANSWERS)
    tries = models.PositiveSmallIntegerField(_("attempts"), default=3, validators=between(1, 20))
    items = models.PositiveSmallIntegerField(
        _("dialogues per attempt, drawn at random"),
        null=True,
        blank=True,
        validators=between(1, 200),
        help_text=_("Empty: all of them."),
    )
    feedback = models.CharField(
        _("the right answers are shown"), max_length=4, choices=Feedback, default=Feedback.EACH
    )
    edition = models.PositiveIntegerField(default=1, editable=False)

    def __str__(self) -> str:
        return f"admission test of {self.project_id}"


class TryState(models.TextChoices):
    RUNNING = "running", _("Running")
    PASSED = "passed", _("Passed")
    FAILED = "failed", _("Not passed")


TRY_MOVES = {TryState.RUNNING: {TryState.PASSED, TryState.FAILED}}


class AdmissionTry(models.Model):
    """One attempt of a person at the test. seed: of the draw, chosen by the server.

    percent: right, in the unit of the test.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="admission_tries")
    annotator = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="admission_tries")
    edition = models.PositiveIntegerField()
    seed = models.PositiveBigIntegerField()
    state = models.CharField(max_length=7, choices=TryState, default=TryState.RUNNING)
    percent = models.FloatField(null=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-started_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "annotator"], condition=Q(state="running"), name="one_running_try"
            )
        ]

    def __str__(self) -> str:
        return f"try of {self.annotator_id} ({self.state})"


class AdmissionItem(models.Model):
    """One dialogue of a try. gold_answers: the right answers that it was graded with; the gold may change later."""

    attempt = models.ForeignKey(AdmissionTry, on_delete=models.CASCADE, related_name="items")
    gold = models.ForeignKey(GoldDialogue, on_delete=models.CASCADE, related_name="+")
    place = models.PositiveSmallIntegerField()
    answers = models.JSONField(null=True)
    gold_answers = models.JSONField(null=True)
    wrong = models.JSONField(default=list, help_text=_("Paths that differ from the right answers"))
    compared = models.PositiveIntegerField(default=0)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "place"], name="one_item_per_place"),
        ]

    def __str__(self) -> str:
        return f"item {self.place} of {self.attempt_id}"


class Admission(models.Model):
    """A person's admission by one edition of a test, or their extra tries. admitted_by: None if they passed it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="admissions")
    annotator = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="admissions")
    edition = models.PositiveIntegerField()
    extra_tries = models.PositiveSmallIntegerField(default=0)
    admitted_at = models.DateTimeField(null=True)
    admitted_by = models.ForeignKey(USER, null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "annotator", "edition"], name="one_admission")
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id} in edition {self.edition}"


class ThreadState(models.TextChoices):
    OPEN = "open", _("Open")
    ANSWERED = "answered", _("Answered")
    DECIDED = "decided", _("Decided")


THREAD_MOVES = {
    ThreadState.OPEN: {ThreadState.ANSWERED, ThreadState.DECIDED},
    ThreadState.ANSWERED: {ThreadState.OPEN, ThreadState.DECIDED},
    ThreadState.DECIDED: {ThreadState.OPEN},
}


class Thread(models.Model):
    """A question about a dialogue, or about one of its utterances. id: its first message's, made by the client."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="threads")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="threads")
    position = models.PositiveIntegerField(null=True)
    asker = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="threads")
    state = models.CharField(max_length=8, choices=ThreadState, default=ThreadState.OPEN)
    is_faq = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    moved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-moved_at"]
        indexes = [
            models.Index(fields=["project", "state", "-moved_at"], name="thread_list"),
            models.Index(fields=["project", "-moved_at"], name="thread_newest"),
        ]

    def __str__(self) -> str:
        return f"thread on {self.dialogue_id} ({self.state})"


class MessageKind(models.TextChoices):
    QUESTION = "question", _("Question")
    ANSWER = "answer", _("Answer")
    DECISION = "decision", _("Decision")


class Message(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="messages")
    author = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=8, choices=MessageKind)
    is_trainers = models.BooleanField(default=False, help_text=_("Written by somebody who may decide"))
    text = models.TextField()
    written_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["written_at", "id"]

    def __str__(self) -> str:
        return f"{self.kind} in {self.thread_id}"


class ThreadSeen(models.Model):
    """The time until which a person has read a thread."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="seen")
    user = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="+")
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "user"], name="one_seen_per_person")]

    def __str__(self) -> str:
        return f"{self.user_id} until {self.seen_at}"


class GuidelinesRead(models.Model):
    """The version of a project's guidelines that a person has read; see selectors.guidelines.guidelines_version."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="guidelines_read")
    user = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="+")
    version = models.PositiveIntegerField()
    read_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_reading_per_person")]

    def __str__(self) -> str:
        return f"{self.user_id} has read version {self.version}"
