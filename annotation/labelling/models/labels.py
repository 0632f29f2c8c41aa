"""Labelling: schemas, submissions and final labels."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.tasks.models.work import Assignment, ClaimLimits, Task, WorkSettings, between
from dialogues.models import Dialogue
from projects.models import Project


class Schema(models.Model):
    """One version of a project's list of questions (annotation/labelling/schema defines `content`).

    A used version is frozen: a change creates the next one, and submissions keep theirs.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="schemas")
    version = models.PositiveIntegerField()
    content = models.JSONField()
    sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    used_at = models.DateTimeField(null=True, help_text=_("When somebody first answered it; frozen since"))

    class Meta:
        ordering = ["project_id", "-version"]
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="one_schema_per_version")]

    def __str__(self) -> str:
        return f"version {self.version}"


class Resolution(models.TextChoices):
    """How the answers of several people become a final label."""

    AGREEMENT = "agreement", _("They must agree; else they confirm, then a trainer decides")
    MAJORITY = "majority", _("The majority")
    COLLECT = "collect", _("Every answer is kept beside the others")


class Ties(models.TextChoices):
    MEDIAN = "median", _("Take the median of ordered answers; a trainer decides the others")
    TRAINER = "trainer", _("A trainer decides")


class Order(models.TextChoices):
    RANDOM = "random", _("At random")
    GIVEN = "given", _("As they were imported")


class LabellingSettings(WorkSettings):
    """Settings of a labelling project.

    balance: nobody may be more dialogues than this ahead of the least busy active annotator; empty: no limit.
    """

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="labelling", primary_key=True
    )
    schema = models.ForeignKey(
        Schema, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("schema")
    )
    overlap = models.PositiveSmallIntegerField(_("people per dialogue"), default=2, validators=between(1, 99))
    resolution = models.CharField(
        _("final label"), max_length=9, choices=Resolution, default=Resolution.AGREEMENT
    )
    ties = models.CharField(_("without a majority"), max_length=7, choices=Ties, default=Ties.MEDIAN)
    order = models.CharField(_("order of the dialogues"), max_length=6, choices=Order, default=Order.RANDOM)
    min_seconds = models.PositiveIntegerField(
        _("shortest time per dialogue, in seconds"), default=0, validators=between(0, 3600)
    )
    balance = models.PositiveIntegerField(
        _("most dialogues ahead of the others"),
        null=True,
        blank=True,
        default=20,
        validators=between(1, 10_000),
    )
    max_per_person = models.PositiveIntegerField(
        _("most dialogues per person"), null=True, blank=True, validators=between(1, 1_000_000)
    )
    plan_imported = models.BooleanField(_("imported dialogues become tasks"), default=True)

    @property
    def claim_limits(self) -> ClaimLimits:
        return ClaimLimits(self.max_per_person, self.balance)

    def __str__(self) -> str:
        return f"labelling settings of {self.project_id}"


class LabelDraft(models.Model):
    """Unsent answers of an assignment. `version` counts saves, which reveals a second device."""

    assignment = models.OneToOneField(
        Assignment, on_delete=models.CASCADE, related_name="label_draft", primary_key=True
    )
    answers = models.JSONField(default=dict)
    note = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=0)
    saved_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"answers of {self.assignment_id}"


class Stage(models.TextChoices):
    LABEL = "label", _("Labelled")
    CONFIRMATION = "confirmation", _("Confirmed")
    CORRECTION = "correction", pgettext_lazy("what somebody sent", "Corrected")


class Submission(models.Model):
    """One person's submitted answers. A correction is a new revision; the old one is kept with `superseded_at`.

    id: created by the browser. answers: {"dialogue": {question: value}, "utterances": {"0": {question: value}}}.
    stage: whether the annotator could see others' answers (DiQAD §4.2). `label`: no, so the work is independent;
    `confirmation`: yes, they were shown for confirmation; `correction`: they or the final label may have been seen.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="submissions")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="submissions")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="submissions")
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="submissions"
    )
    schema = models.ForeignKey(Schema, on_delete=models.PROTECT, related_name="submissions")
    revision = models.PositiveSmallIntegerField(default=1)
    stage = models.CharField(max_length=12, choices=Stage, default=Stage.LABEL)
    answers = models.JSONField()
    note = models.TextField(blank=True)
    active_ms = models.PositiveBigIntegerField(default=0)
    idle_ms = models.PositiveBigIntegerField(default=0)
    trace = models.JSONField(default=list)
    served_at = models.DateTimeField(null=True)
    stored_at = models.DateTimeField(default=timezone.now)
    superseded_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["stored_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["assignment"], condition=Q(superseded_at=None), name="one_live_submission"
            ),
            models.UniqueConstraint(fields=["assignment", "revision"], name="one_submission_per_revision"),
        ]
        indexes = [
            models.Index(fields=["project", "stored_at"], name="submission_course"),
            models.Index(fields=["annotator", "project", "-stored_at"], name="submission_mine"),
            # For samples, which read whose work was drawn without reading the answers.
            models.Index(fields=["annotator", "task"], name="submission_of_person"),
        ]

    def __str__(self) -> str:
        return f"revision {self.revision} of {self.assignment_id}"


class ShownLabels(models.Model):
    """When others' labels of a task, or its final label, were first shown to a person."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="shown_labels")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    shown_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "person"], name="labels_first_shown_to_person")
        ]

    def __str__(self) -> str:
        return f"labels of {self.task_id} shown to {self.person_id}"


class LabelOrigin(models.TextChoices):
    """How a final label came about."""

    SINGLE = "single", _("One person")
    UNANIMOUS = "unanimous", _("All agreed")
    CONFIRMED = "confirmed", _("Agreed after seeing each other's answers")
    DECIDED = "decided", _("Decided by a trainer")
    MAJORITY = "majority", _("Majority")
    COLLECTED = "collected", _("Every answer kept")
    MACHINE = "machine", _("Machine label")


class FinalLabel(models.Model):
    """The resolved labels of a dialogue and their origin. A later final label supersedes it; the history is kept.

    undecided: paths without a value, such as ["quality"], or ["3/nugget"] for an utterance.
    dialogue: None after it was deleted; answers then hold the checked answer of a judged sample alone.
    machine: of a machine label, {"run", "model", "version", "probability"}; None for what people decided.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="final_labels")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="final_labels")
    dialogue = models.ForeignKey(Dialogue, null=True, on_delete=models.CASCADE, related_name="final_labels")
    schema = models.ForeignKey(Schema, on_delete=models.PROTECT, related_name="final_labels")
    answers = models.JSONField()
    origin = models.CharField(max_length=9, choices=LabelOrigin)
    undecided = models.JSONField(default=list)
    machine = models.JSONField(null=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    reason = models.TextField(blank=True)
    decided_at = models.DateTimeField(default=timezone.now)
    superseded_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task"], condition=Q(superseded_at=None), name="one_live_final_label"
            ),
            models.CheckConstraint(
                condition=Q(origin="machine", machine__isnull=False, decided_by=None)
                | (~Q(origin="machine") & Q(machine__isnull=True)),
                name="machine_labels_are_marked",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "origin"], name="final_label_origin"),
            # For programs that read the labels in the order in which they come about.
            models.Index(
                fields=["project", "id"], name="final_label_course", condition=Q(superseded_at=None)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.origin} label of {self.dialogue_id}"
