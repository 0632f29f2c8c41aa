"""Scores that evaluators gave the replies of a project."""

import uuid

from django.conf import settings as configuration
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from dialogues.models import Dialogue, Utterance
from jobs.models import Job
from preference.registry.models import RegisteredModel
from projects.models import Project


class EvaluatorName(models.TextChoices):
    """As in preference.training.evaluators.table; evaluators.catalogue says what each needs."""

    PAIREVAL = "paireval", "PairEval"
    DIRECTEVAL = "directeval", "DirectEval"
    PREFERENCE = "preference", _("Preference score")
    LIKELIHOOD = "likelihood", _("Likelihood")
    ASSESSOR = "assessor", _("Quality assessor")
    JUDGE = "judge", pgettext_lazy("a model that judges", "Judge")
    BLEU = "bleu", "BLEU"
    CHRF = "chrf", "chrF"
    ROUGE_L = "rouge_l", "ROUGE-L"
    LENGTH = "length", _("Length")
    DISTINCT = "distinct", _("Distinct n-grams")
    RANDOM = "random", _("Random number")


class Target(models.TextChoices):
    REPLIES = "replies", _("Replies")
    UTTERANCES = "utterances", _("All utterances after the first")
    CANDIDATES = "candidates", _("Replies and the candidates displayed for them")


class ScoringRun(models.Model):
    """One evaluator over the replies of a project; its state is that of its job.

    id: the same as its job's. model, base: what the evaluator computes with; both empty if it needs no model, and base
    names an unregistered folder or hub id. settings: by name, with defaults. description: Evaluator.describe().
    summary: {"mean", "sd", "low", "high", "histogram": [[from, to, n], …]} of the scores. reasons: number of rows
    without a score by reason, the most frequent ones.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="scoring_runs")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="scoring_run")
    evaluator = models.CharField(max_length=20, choices=EvaluatorName)
    model = models.ForeignKey(
        RegisteredModel, null=True, on_delete=models.CASCADE, related_name="scoring_runs"
    )
    base = models.CharField(max_length=300, blank=True)
    settings = models.JSONField(default=dict)
    target = models.CharField(max_length=10, choices=Target)
    description = models.JSONField(default=dict)
    summary = models.JSONField(default=dict)
    scored = models.PositiveIntegerField(default=0)
    unscored = models.PositiveIntegerField(default=0)
    reasons = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="scoring_newest")]

    def __str__(self) -> str:
        return f"{self.evaluator} of {self.project_id}"


class Score(models.Model):
    """What a run gave one reply, or one candidate displayed for it.

    utterance: the reply that was sent. place: of the candidate in the utterance's candidate set; None for the reply
    itself. value: None if the evaluator could not score it; `reason` then says why. details: further columns of the
    evaluator's output.
    """

    run = models.ForeignKey(ScoringRun, on_delete=models.CASCADE, related_name="scores", db_index=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="scores")
    utterance = models.ForeignKey(Utterance, on_delete=models.CASCADE, related_name="scores")
    place = models.PositiveSmallIntegerField(null=True)
    value = models.FloatField(null=True)
    reason = models.TextField(blank=True)
    details = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "utterance"], condition=Q(place=None), name="one_score_per_reply"
            ),
            models.UniqueConstraint(fields=["run", "utterance", "place"], name="one_score_per_candidate"),
            models.CheckConstraint(
                condition=Q(value__isnull=False) | ~Q(reason=""), name="no_score_has_a_reason"
            ),
        ]
        indexes = [
            models.Index(fields=["run", "value", "id"], name="score_by_value"),
            models.Index(fields=["run", "id"], name="score_of_run"),
        ]

    def __str__(self) -> str:
        return f"{self.value} for {self.utterance_id}"


class MetaEvaluation(models.Model):
    """Scoring runs beside people's judgements of the same replies; its state is that of its job.

    id: the same as its job's. question: a name of evaluators.selectors.judgements. report: of preference.training.meta,
    with ids of runs as names of evaluators; empty until it is done. points: by id of a run, [[person's score, the
    run's], …], a sample of them.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="meta_evaluations")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="meta_evaluation")
    question = models.CharField(max_length=200)
    runs = models.ManyToManyField(ScoringRun, related_name="meta_evaluations")
    report = models.JSONField(default=dict)
    points = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="meta_newest")]

    def __str__(self) -> str:
        return f"{self.question} of {self.project_id}"
