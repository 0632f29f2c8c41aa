"""Batches: dialogues that are labelled by one group and accepted or returned together (DiQAD §4.2, A.1)."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.labelling.models.labels import FinalLabel
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Task, between
from projects.models import Project

USER = settings.AUTH_USER_MODEL


class Relabel(models.TextChoices):
    SAME = "same", _("The same group")
    OTHER = "other", _("The next group")


class BatchPlan(models.Model):
    """How a project's batches are cut and judged.

    question: the key of the question that accuracy is about; its answers are the classes. Empty: every compared answer
    has to be right, and there is one class.
    """

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="batch_plan", primary_key=True
    )
    batch_size = models.PositiveIntegerField(
        _("dialogues per batch"), default=2000, validators=between(1, 100_000)
    )
    sample_size = models.PositiveIntegerField(
        _("dialogues per sample"), default=100, validators=between(1, 10_000)
    )
    overall_percent = models.DecimalField(
        _("accuracy needed, in percent"),
        max_digits=5,
        decimal_places=2,
        default=92,
        validators=between(1, 100),
    )
    class_percent = models.DecimalField(
        _("accuracy needed in every class, in percent"),
        max_digits=5,
        decimal_places=2,
        default=90,
        validators=between(0, 100),
        help_text=_("0: the classes are not looked at."),
    )
    question = models.CharField(_("question that is checked"), max_length=40, blank=True)
    is_blind = models.BooleanField(_("controllers label first, then see the label"), default=True)
    is_stratified = models.BooleanField(
        _("draw the same number of every class"),
        default=False,
        help_text=_("Rare classes are judged more surely; accuracies are weighted by how many there are."),
    )
    double_every = models.PositiveSmallIntegerField(
        _("a second controller judges every N-th batch"),
        default=5,
        validators=between(0, 1000),
        help_text=_("0: never."),
    )
    relabel = models.CharField(
        _("who labels a returned batch again"), max_length=5, choices=Relabel, default=Relabel.SAME
    )

    def __str__(self) -> str:
        return f"batch plan of {self.project_id}"


class Sample(models.Model):
    """The dialogues of a round that were drawn to be judged. The seed and the population make the draw repeatable.

    population: how many dialogues could be drawn. own: how many could not, because the controller labelled them.
    classes: how many of the population have each label, as {"2": 1400, …}.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    round = models.OneToOneField(Round, on_delete=models.CASCADE, related_name="sample")
    seed = models.PositiveBigIntegerField()
    is_blind = models.BooleanField()
    is_stratified = models.BooleanField()
    is_double = models.BooleanField(default=False, help_text=_("A second controller judges all of it"))
    question = models.CharField(max_length=40, blank=True)
    # Copied from the plan when the sample is drawn: a later change must not turn a verdict that is already certain.
    overall_percent = models.DecimalField(max_digits=5, decimal_places=2)
    class_percent = models.DecimalField(max_digits=5, decimal_places=2)
    population = models.PositiveIntegerField()
    own = models.PositiveIntegerField(default=0)
    classes = models.JSONField()
    drawn_by = models.ForeignKey(USER, null=True, on_delete=models.SET_NULL, related_name="+")
    drawn_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"sample of round {self.round_id}"


class SampleItem(models.Model):
    """One drawn dialogue with the label that it had. label: its class in the checked question."""

    sample = models.ForeignKey(Sample, on_delete=models.CASCADE, related_name="items")
    place = models.PositiveSmallIntegerField()
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="drawn")
    final = models.ForeignKey(FinalLabel, on_delete=models.PROTECT, related_name="drawn")
    label = models.CharField(max_length=100)

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "place"], name="one_item_per_sample_place"),
            models.UniqueConstraint(fields=["sample", "task"], name="one_item_per_sampled_task"),
        ]

    def __str__(self) -> str:
        return f"item {self.place} of {self.sample_id}"


class Judgement(models.Model):
    """A controller's judgement on a drawn dialogue. answers: the right ones. is_right: whether the label is right.

    number: 1 or 2, in the order of the controllers of an item. The first judgement counts; the second is compared.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    item = models.ForeignKey(SampleItem, on_delete=models.CASCADE, related_name="judgements")
    controller = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="judgements")
    number = models.PositiveSmallIntegerField(default=1)
    is_right = models.BooleanField()
    answers = models.JSONField()
    reason = models.TextField(blank=True)
    active_ms = models.PositiveBigIntegerField(default=0)
    judged_at = models.DateTimeField(default=timezone.now)
    superseded_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["judged_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["item", "controller"], condition=Q(superseded_at=None), name="one_live_judgement"
            ),
            models.UniqueConstraint(
                fields=["item", "number"], condition=Q(superseded_at=None), name="one_judgement_per_number"
            ),
        ]

    def __str__(self) -> str:
        return f"judgement on {self.item_id}"


class LaterJudgement(models.Model):
    """What a controller of a blind sample said after the label was shown. Only the first judgement counts."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    item = models.ForeignKey(SampleItem, on_delete=models.CASCADE, related_name="later_judgements")
    controller = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="later_judgements")
    is_right = models.BooleanField()
    answers = models.JSONField()
    reason = models.TextField(blank=True)
    judged_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["judged_at"]

    def __str__(self) -> str:
        return f"later judgement on {self.item_id}"


class AppealState(models.TextChoices):
    OPEN = "open", _("Open")
    UPHELD = "upheld", _("Upheld")
    REJECTED = "rejected", _("Rejected")


APPEAL_MOVES = {AppealState.OPEN: {AppealState.UPHELD, AppealState.REJECTED}}


class Appeal(models.Model):
    """A disputed correction, which a trainer settles. Upheld: the label was right after all."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    item = models.ForeignKey(SampleItem, on_delete=models.CASCADE, related_name="appeals")
    by = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="appeals")
    reason = models.TextField()
    state = models.CharField(max_length=8, choices=AppealState, default=AppealState.OPEN)
    raised_at = models.DateTimeField(default=timezone.now)
    settled_by = models.ForeignKey(USER, null=True, on_delete=models.SET_NULL, related_name="+")
    settled_at = models.DateTimeField(null=True)
    settlement = models.TextField(blank=True)

    class Meta:
        ordering = ["raised_at"]
        constraints = [
            models.UniqueConstraint(fields=["item"], condition=Q(state="open"), name="one_open_appeal"),
            models.UniqueConstraint(fields=["item"], condition=Q(state="upheld"), name="one_upheld_appeal"),
        ]

    def __str__(self) -> str:
        return f"appeal on {self.item_id} ({self.state})"
