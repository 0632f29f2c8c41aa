"""Tasks, who holds them, and what was written and judged."""

import uuid

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from dialogues.models import Action, CandidateSet, Dialogue
from generation.models import Generator
from projects.models import Project


def between(low: float, high: float) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(low), MaxValueValidator(high)]


class AuthoringSettings(models.Model):
    """How a project of the protocol `authoring` works. Defaults are the paper's (Diamante §2.1, Appendix B)."""

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="authoring", primary_key=True
    )
    generator = models.ForeignKey(
        Generator, null=True, blank=True, on_delete=models.PROTECT, verbose_name=_("model"), related_name="+"
    )
    candidates = models.PositiveSmallIntegerField(
        _("candidates per turn"), default=7, validators=between(1, 9)
    )
    min_rounds = models.PositiveSmallIntegerField(
        _("least rounds"), default=7, validators=between(1, 50), help_text=_("A round is two utterances.")
    )
    top_k = models.PositiveSmallIntegerField(_("top-k"), default=10, validators=between(1, 1000))
    temperature = models.FloatField(_("temperature"), default=1.0, validators=between(0.01, 5.0))
    no_repeat_ngram_size = models.PositiveSmallIntegerField(
        _("blocked n-gram"), default=3, validators=between(0, 20)
    )
    max_new_tokens = models.PositiveSmallIntegerField(
        _("longest reply, in tokens"), default=64, validators=between(1, 1024)
    )
    new_sets_per_turn = models.PositiveSmallIntegerField(
        _("new candidate sets per turn"), default=5, validators=between(0, 50)
    )
    generate_ahead = models.BooleanField(_("generate for resting drafts"), default=True)
    max_utterance_length = models.PositiveIntegerField(
        _("longest utterance, in characters"), default=2000, validators=between(1, 20_000)
    )
    lease_minutes = models.PositiveIntegerField(
        _("hold a task for, in minutes"), default=30, validators=between(1, 1440)
    )
    saved_days = models.PositiveIntegerField(
        _("keep saved work for, in days"), default=7, validators=between(1, 365)
    )
    open_tasks_per_person = models.PositiveSmallIntegerField(
        _("open dialogues per person"), default=3, validators=between(1, 50)
    )
    daily_goal = models.PositiveSmallIntegerField(
        _("dialogues per person and day"), default=20, validators=between(1, 500)
    )
    experts_required = models.PositiveSmallIntegerField(
        _("experts per dialogue"), default=1, validators=between(1, 9)
    )

    def __str__(self) -> str:
        return f"authoring settings of {self.project_id}"


class Topic(models.Model):
    """An idea for an opening, offered and never forced (Diamante §2.1, step 1)."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="topics")
    language = models.CharField(max_length=3)
    title = models.CharField(max_length=120)
    example = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.title


class Task(models.Model):
    """A dialogue to be annotated by `overlap` different people; in authoring, a dialogue to be written.

    open_slots is how many people may still claim it. It never goes below 0: the database refuses.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tasks")
    dialogue = models.ForeignKey(Dialogue, null=True, on_delete=models.CASCADE, related_name="tasks")
    overlap = models.PositiveSmallIntegerField(default=1)
    open_slots = models.SmallIntegerField(default=1)
    priority = models.SmallIntegerField(default=0, help_text=_("Smaller comes first"))
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["priority", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(open_slots__gte=0), name="task_not_over_assigned"),
            models.CheckConstraint(
                condition=Q(open_slots__lte=models.F("overlap")), name="task_slots_within_overlap"
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "priority", "id"], name="task_open", condition=Q(open_slots__gt=0)
            ),
        ]

    def __str__(self) -> str:
        return f"task {self.pk}"


class AssignmentState(models.TextChoices):
    ACTIVE = "active", _("In work")
    SAVED = "saved", _("Saved for later")
    SUBMITTED = "submitted", _("Finished")
    RELEASED = "released", _("Given back")
    EXPIRED = "expired", _("Expired")


HELD = (AssignmentState.ACTIVE, AssignmentState.SAVED)
ASSIGNMENT_MOVES = {
    AssignmentState.ACTIVE: {
        AssignmentState.SAVED,
        AssignmentState.SUBMITTED,
        AssignmentState.RELEASED,
        AssignmentState.EXPIRED,
    },
    AssignmentState.SAVED: {AssignmentState.ACTIVE, AssignmentState.RELEASED, AssignmentState.EXPIRED},
    # Taken up again: the slot is taken back if it is still open.
    AssignmentState.EXPIRED: {AssignmentState.ACTIVE},
    AssignmentState.RELEASED: {AssignmentState.ACTIVE},
    # The author takes a finished dialogue back, as long as no expert has seen it.
    AssignmentState.SUBMITTED: {AssignmentState.ACTIVE},
}


class Assignment(models.Model):
    """One person's claim on a task, with a lease that is renewed while they work."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="assignments")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="assignments")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="assignments"
    )
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="assignments")
    state = models.CharField(max_length=9, choices=AssignmentState, default=AssignmentState.ACTIVE)
    claim_id = models.UUIDField(
        unique=True, help_text=_("Made by the browser; a second send finds the first claim")
    )
    lease_until = models.DateTimeField()
    claimed_at = models.DateTimeField(default=timezone.now)
    touched_at = models.DateTimeField(default=timezone.now)
    submitted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["task", "annotator"], name="one_assignment_per_person_and_task")
        ]
        indexes = [
            models.Index(fields=["annotator", "project", "state"], name="assignment_mine"),
            models.Index(
                fields=["lease_until"], name="assignment_lease", condition=Q(state__in=["active", "saved"])
            ),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk} ({self.state})"


class Draft(models.Model):
    """Unsent words of an assignment. `version` counts saves, so that a second device is noticed."""

    assignment = models.OneToOneField(
        Assignment, on_delete=models.CASCADE, related_name="draft", primary_key=True
    )
    position = models.PositiveIntegerField(default=0)
    text = models.TextField(blank=True)
    candidate_set = models.ForeignKey(CandidateSet, null=True, on_delete=models.SET_NULL, related_name="+")
    source = models.PositiveSmallIntegerField(null=True)
    version = models.PositiveIntegerField(default=0)
    saved_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"draft of {self.assignment_id}"


class Turn(models.Model):
    """A sent utterance: the submission of authoring. Undone turns are kept, marked.

    id: the browser's submission UUID. trace: what was clicked and when, [{"at": ms since shown, "kind", …}].
    active_ms, idle_ms: time with and without input since the turn was shown.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="turns")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="turns")
    position = models.PositiveIntegerField()
    text = models.TextField()
    action = models.CharField(max_length=7, choices=Action)
    candidate_set = models.ForeignKey(CandidateSet, null=True, on_delete=models.SET_NULL, related_name="+")
    source = models.PositiveSmallIntegerField(null=True)
    edit_distance = models.PositiveIntegerField(null=True)
    active_ms = models.PositiveBigIntegerField(default=0)
    idle_ms = models.PositiveBigIntegerField(default=0)
    trace = models.JSONField(default=list)
    stored_at = models.DateTimeField(default=timezone.now)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["stored_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["dialogue", "position"],
                condition=Q(undone_at=None),
                name="one_live_turn_per_position",
            ),
        ]
        indexes = [models.Index(fields=["assignment", "position"], name="turn_assignment")]

    def __str__(self) -> str:
        return f"turn {self.position} of {self.dialogue_id}"


class Verdict(models.TextChoices):
    PASS = "pass", _("Pass")
    VETO = "veto", _("Veto")


class ExpertReview(models.Model):
    """An expert's verdict on a finished dialogue (Diamante Appendix B.2). One veto removes the dialogue from exports.

    A changed verdict is a new row; the old one is kept with `superseded_at`. A row without verdict is a claim: while it
    lasts, nobody else is sent the dialogue in its place. remarks: [{"position", "text"}] on single utterances.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="expert_reviews")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="expert_reviews"
    )
    verdict = models.CharField(max_length=4, choices=Verdict, blank=True)
    reason = models.TextField(blank=True)
    remarks = models.JSONField(default=list)
    claimed_until = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    superseded_at = models.DateTimeField(null=True)
    seen_by_author_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["dialogue", "reviewer"],
                condition=Q(superseded_at=None),
                name="one_live_review_per_expert",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict or 'claim'} on {self.dialogue_id}"
