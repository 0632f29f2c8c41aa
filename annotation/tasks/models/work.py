"""Tasks, assignments, and the workload of each person."""

from dataclasses import dataclass

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from dialogues.models import Dialogue
from projects.models import Project


def between(low: float, high: float) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(low), MaxValueValidator(high)]


@dataclass(frozen=True, slots=True)
class ClaimLimits:
    """How many dialogues a person may take; None: no limit.

    max_per_person: in the project. balance: more than the least busy person at work.
    """

    max_per_person: int | None = None
    balance: int | None = None


class WorkSettings(models.Model):
    """The settings that every protocol has.

    epoch: increased when a task may be free behind somebody's cursor (Workload).
    """

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
    epoch = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        abstract = True

    @property
    def claim_limits(self) -> ClaimLimits:
        """None by default; protocols with limits override this."""
        return ClaimLimits()


class TaskState(models.TextChoices):
    """How far a dialogue's labels are. In authoring, tasks stay open; the dialogue has the state."""

    OPEN = "open", _("Being labelled")
    CONFIRMING = "confirming", _("Being confirmed")
    DISPUTED = "disputed", _("For a trainer")
    FINAL = "final", _("Final")
    WITHDRAWN = "withdrawn", _("Withdrawn with its batch")


TASK_MOVES = {
    TaskState.OPEN: {TaskState.CONFIRMING, TaskState.DISPUTED, TaskState.FINAL},
    TaskState.CONFIRMING: {TaskState.OPEN, TaskState.DISPUTED, TaskState.FINAL},
    TaskState.DISPUTED: {TaskState.OPEN, TaskState.CONFIRMING, TaskState.FINAL},
    # After a revision, or another decision of a trainer.
    TaskState.FINAL: {TaskState.OPEN, TaskState.CONFIRMING, TaskState.DISPUTED, TaskState.WITHDRAWN},
}

PRIORITY_STEP = 2**31  # larger than every place


class Task(models.Model):
    """A dialogue to be annotated by `overlap` different people; in authoring, a dialogue to be written.

    open_slots: how many people may still claim it; a constraint keeps it from 0 to `overlap`.
    place: orders tasks of one priority, at random if the project wants that. original_place: while the queue is in
    another order (services.queue_order), the place without it. rank: the order in which tasks are given out.
    group: the annotator group that it is for; empty: anybody.
    language: of its dialogue, as a code that people can say they read; empty: none of those, so it is for everybody. In
    authoring it is empty, since a dialogue that is still to be written has the language of its project.
    disagreement: share of the compared answers that differ between people who did not see each other's; None until all
    have answered.
    dialogue: None after it was deleted while its round was in review or judged; the task then keeps its place.
    round: that it is judged in. A returned round withdraws its tasks; the next round has its own.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tasks")
    dialogue = models.ForeignKey(Dialogue, null=True, on_delete=models.CASCADE, related_name="tasks")
    overlap = models.PositiveSmallIntegerField(default=1)
    open_slots = models.SmallIntegerField(default=1)
    priority = models.SmallIntegerField(default=0, help_text=_("Smaller comes first"))
    place = models.PositiveIntegerField(default=0)
    original_place = models.PositiveIntegerField(null=True)
    rank = models.GeneratedField(
        expression=F("priority") * PRIORITY_STEP + F("place"),
        output_field=models.BigIntegerField(),
        db_persist=True,
    )
    group = models.CharField(max_length=40, blank=True)
    # Web processes of the release before write rows without it while an upgrade runs.
    language = models.CharField(max_length=3, blank=True, default="", db_default="")
    state = models.CharField(max_length=10, choices=TaskState, default=TaskState.OPEN)
    disagreement = models.FloatField(null=True)
    round = models.ForeignKey("annotation.Round", null=True, on_delete=models.PROTECT, related_name="tasks")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["rank", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(open_slots__gte=0), name="task_not_over_assigned"),
            models.CheckConstraint(
                condition=Q(open_slots__lte=models.F("overlap")), name="task_slots_within_overlap"
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "group", "rank", "id"], name="task_open", condition=Q(open_slots__gt=0)
            ),
            models.Index(
                fields=["project", "group", "language", "rank", "id"],
                name="task_open_in_language",
                condition=Q(open_slots__gt=0),
            ),
            models.Index(
                fields=["project", "state", "-disagreement"],
                name="task_undecided",
                condition=Q(state__in=["confirming", "disputed"]),
            ),
            models.Index(
                fields=["project", "-disagreement", "-id"],
                name="task_disagreed",
                condition=Q(disagreement__gt=0),
            ),
            models.Index(fields=["round", "state"], name="task_of_round"),
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
    # Taken up again, if the slot is still open.
    AssignmentState.EXPIRED: {AssignmentState.ACTIVE},
    AssignmentState.RELEASED: {AssignmentState.ACTIVE},
    # The author takes a finished dialogue back before an expert has seen it.
    AssignmentState.SUBMITTED: {AssignmentState.ACTIVE},
}


class Assignment(models.Model):
    """One person's claim on a task, with a lease that is renewed while they work.

    served_at: when the dialogue was first shown to the person; None for a task claimed ahead until it is shown.
    """

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
    served_at = models.DateTimeField(null=True)
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
            models.Index(
                fields=["project", "task"], name="assignment_skipped", condition=Q(state="released")
            ),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk} ({self.state})"


class Workload(models.Model):
    """How many tasks one person has taken of a project, and where to look for the next one.

    taken: assignments held or submitted, without those withdrawn with their batch. cursors: by annotator group and the
    languages that the person reads, the rank from which to look for a task; valid while `epoch` equals the project's,
    since a task may be free behind them otherwise. drained_at: when nothing was left for the person, whom the balance
    ignores from then on. A claim locks this row.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="workloads")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="workloads"
    )
    taken = models.PositiveIntegerField(default=0)
    cursors = models.JSONField(default=dict)
    epoch = models.PositiveIntegerField(default=0)
    active_at = models.DateTimeField(default=timezone.now)
    drained_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "annotator"], name="one_workload_per_person")
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id} has taken {self.taken}"
