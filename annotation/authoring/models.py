"""The settings of authoring, topic ideas, drafts and turns."""

import uuid

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.tasks.models.work import Assignment, WorkSettings, between
from dialogues.models import CandidateSet, Dialogue, Provenance, Utterance
from generation.models import CandidateOrder, Generator
from projects.models import Project


class AuthoringSettings(WorkSettings):
    """The settings of a project of the protocol `authoring`. Defaults are the paper's (Diamante §2.1, Appendix B)."""

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="authoring", primary_key=True
    )
    generator = models.ForeignKey(
        Generator, null=True, blank=True, on_delete=models.PROTECT, verbose_name=_("model"), related_name="+"
    )
    second_generator = models.ForeignKey(
        Generator,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        verbose_name=_("second model"),
        related_name="+",
        help_text=_(
            "Writes half of the candidates of every turn, so that the two are compared while people work. Nobody sees "
            "which model wrote what; the order is always random then. The statistics say whose replies people take."
        ),
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
    candidate_order = models.CharField(
        _("order of the candidates"),
        max_length=6,
        choices=CandidateOrder,
        default=CandidateOrder.RANDOM,
        help_text=_(
            "Best first goes by the preference score, which only models trained here give. Without scores, and with "
            "two models, the order is random."
        ),
    )
    one_script = models.BooleanField(
        _("candidates in the dialogue's script only"),
        default=True,
        db_default=True,
        help_text=_("An English dialogue gets no Chinese characters, and the other way round."),
    )
    show_scores = models.BooleanField(
        _("show scores to annotators"),
        default=False,
        help_text=_("Scores are always logged. Shown, they may sway what people choose."),
    )
    new_sets_per_turn = models.PositiveSmallIntegerField(
        _("new candidate sets per turn"), default=5, validators=between(0, 50)
    )
    generate_ahead = models.BooleanField(_("generate for resting drafts"), default=True)
    max_utterance_length = models.PositiveIntegerField(
        _("longest utterance, in characters"), default=2000, validators=between(1, 20_000)
    )
    experts_required = models.PositiveSmallIntegerField(
        _("experts per dialogue"), default=1, validators=between(1, 9)
    )
    review_imported = models.BooleanField(
        _("experts also read imported dialogues"),
        default=False,
        help_text=_("Off: they read only what was written here. Imported dialogues stay unreviewed."),
    )

    def __str__(self) -> str:
        return f"authoring settings of {self.project_id}"

    def clean(self) -> None:
        if self.second_generator_id is None:
            return
        if self.second_generator_id == self.generator_id:
            raise ValidationError(
                {"second_generator": _("Both models are the same. Choose another second one, or none.")}
            )
        if self.candidates < 2:
            raise ValidationError({"candidates": _("Two models need at least two candidates per turn.")})


class Topic(models.Model):
    """An idea for an opening. Nobody has to take one (Diamante §2.1, step 1)."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="topics")
    language = models.CharField(max_length=3)
    title = models.CharField(max_length=120)
    example = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.title


class Draft(models.Model):
    """The unsent text of an assignment. `version` counts saves, so that changes on another device are noticed."""

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


class Turn(Provenance):
    """A sent utterance: the submission of authoring. Undone turns are kept, marked.

    id: the browser's submission UUID. utterance: the text as it is in the dialogue; None once the turn is undone.
    The provenance is stored with the utterance. An undone turn has no utterance, so it keeps the provenance itself.
    trace: what was clicked and when, [{"at": ms since shown, "kind", …}].
    active_ms, idle_ms: time with and without input since the turn was shown.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="turns")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="turns")
    utterance = models.OneToOneField(Utterance, null=True, on_delete=models.RESTRICT, related_name="turn")
    position = models.PositiveIntegerField()
    text = models.TextField()
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
            models.CheckConstraint(
                condition=Q(utterance=None)
                | Q(action="", candidate_set=None, source=None, edit_distance=None),
                name="provenance_is_stored_once",
            ),
        ]
        indexes = [models.Index(fields=["assignment", "position"], name="turn_assignment")]

    def __str__(self) -> str:
        return f"turn {self.position} of {self.dialogue_id}"

    @property
    def provenance(self) -> Provenance:
        """Where the provenance is stored: the utterance, or the turn itself once it is undone."""
        return self.utterance or self
