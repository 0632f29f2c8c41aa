"""Shapes of the REST API of batches. Output shapes are built from rows by `of_…` functions."""

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, Judgement, Sample
from annotation.batch_review.selectors import sample_review as selectors
from annotation.batch_review.selectors.accuracy import Corrected
from annotation.batch_review.selectors.sample_review import Progress
from annotation.batch_review.services import reviewer_shares
from annotation.labelling.serializers import AnswersField, LabelUtteranceSerializer
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.serializers import A_DAY_MS, BIGGEST_ID
from annotation.tasks.services.reasons import MAX_REASON
from common.rest.serializers import StrictSerializer
from measures.estimate import Estimate
from measures.verdict import ClassTally, Decision

if TYPE_CHECKING:
    from annotation.batch_review.selectors.batches import CountedRound

BIGGEST_SEED = 2**63 - 1
MADE = "Made by the client; a second send changes nothing."


class CutInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first batches.")
    size = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100_000,
        help_text="Dialogues per batch; by default the plan's.",
    )
    groups = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        max_length=1000,
        help_text="Who labels them, in turns; by default the project's groups, none: anybody.",
    )
    with_rest = serializers.BooleanField(
        required=False, default=True, help_text="Also the last batch, which may be smaller."
    )


class BatchMade(serializers.ModelSerializer[Batch]):
    class Meta:
        model = Batch
        fields = ["number", "size", "created_at"]


class BatchesMade(serializers.Serializer[Any]):
    batches = BatchMade(many=True)


class RoundFilters(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=RoundState.choices, required=False)
    batch = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="Number of the batch."
    )
    group = serializers.CharField(required=False, max_length=40)


class WhyInput(StrictSerializer):
    reason = serializers.CharField(max_length=MAX_REASON)


class GroupInput(StrictSerializer):
    group = serializers.CharField(allow_blank=True, max_length=40, help_text="Empty: anybody.")


class DrawInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the sample.")
    seed = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=BIGGEST_SEED,
        help_text="Chosen at random where it is left out.",
    )


class AcceptInput(StrictSerializer):
    id = serializers.UUIDField(help_text=MADE)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=MAX_REASON)


class ReturnInput(StrictSerializer):
    id = serializers.UUIDField(help_text=MADE)
    reason = serializers.CharField(max_length=MAX_REASON)
    group = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text="Who labels it anew; by default as planned.",
    )


class JudgementInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored judgement.")
    answers = AnswersField(
        required=False,
        allow_null=True,
        help_text="The right ones; none: the label holds (not in blind samples).",
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=MAX_REASON)
    active_ms = serializers.IntegerField(required=False, min_value=0, max_value=A_DAY_MS)
    next = serializers.IntegerField(
        required=False, min_value=0, max_value=5, help_text="How many more dialogues to send along."
    )
    held = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=BIGGEST_ID),
        required=False,
        max_length=20,
        help_text="Dialogues that the client has already.",
    )


class NextFilters(serializers.Serializer[Any]):
    count = serializers.IntegerField(required=False, min_value=1, max_value=5)


class AppealInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored appeal.")
    reason = serializers.CharField(max_length=MAX_REASON)


class AppealFilters(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=AppealState.choices, required=False)


class SettlementInput(StrictSerializer):
    upheld = serializers.BooleanField(help_text="Whether the label was right.")
    settlement = serializers.CharField(max_length=MAX_REASON, help_text="Why.")


# ---- output ----------------------------------------------------------------------------------------------------------


class RoundShape(serializers.Serializer[Any]):
    """total, done: dialogues, and those with their final label. figures: what an ended round's verdict rested on."""

    id = serializers.IntegerField()
    batch = serializers.IntegerField()
    round = serializers.IntegerField()
    size = serializers.IntegerField()
    group = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=RoundState.choices)
    opened_at = serializers.DateTimeField()
    sealed_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    ended_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    figures = serializers.DictField()
    sample = serializers.UUIDField(allow_null=True)


class RoundInList(RoundShape):
    total = serializers.IntegerField()
    done = serializers.IntegerField()


class Returned(serializers.Serializer[Any]):
    round = RoundShape()
    next = RoundShape()


class EstimateShape(serializers.Serializer[Any]):
    """A share from 0 to 1 with its 95 % interval."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class ClassShape(EstimateShape):
    """drawn: null in a blind sample in review, where it would tell a label."""

    label = serializers.CharField()  # type: ignore[assignment]  # of fields, not of shapes
    drawn = serializers.IntegerField(allow_null=True)
    judged = serializers.IntegerField()
    right = serializers.IntegerField()
    population = serializers.IntegerField()


class StandingShape(EstimateShape):
    """spare: how many more may be wrong in the sample (null: weighted by class); failing: classes that cannot pass."""

    judged = serializers.IntegerField()
    right = serializers.IntegerField()
    sample = serializers.IntegerField()
    decision = serializers.ChoiceField(choices=[(one.value, one.value) for one in Decision])
    is_early = serializers.BooleanField()
    needed = serializers.FloatField()
    needed_by_class = serializers.FloatField(allow_null=True)
    spare = serializers.IntegerField(allow_null=True)
    failing = serializers.ListField(child=serializers.CharField())
    classes = ClassShape(many=True)


class ProgressShape(serializers.Serializer[Any]):
    """cells: one sign a dialogue as drawn: "." open, "r" right and "w" wrong as you judged, "R" and "W" as somebody
    else did, "o" your own work. left: how many you can still judge."""

    standing = StandingShape()
    cells = serializers.CharField()
    left = serializers.IntegerField()


class SampleShape(ProgressShape):
    id = serializers.UUIDField()
    round = serializers.IntegerField()
    seed = serializers.IntegerField()
    question = serializers.CharField(allow_blank=True)
    is_blind = serializers.BooleanField()
    is_stratified = serializers.BooleanField()
    is_double = serializers.BooleanField()
    population = serializers.IntegerField()
    own = serializers.IntegerField(help_text="Dialogues that could not be drawn: who drew had labelled them.")
    drawn_by = serializers.CharField(allow_null=True)
    drawn_at = serializers.DateTimeField()


class OwnJudgement(serializers.Serializer[Any]):
    answers = serializers.JSONField()
    is_right = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True)


class ItemShape(serializers.Serializer[Any]):
    """label: null in a blind sample until you have judged."""

    id = serializers.IntegerField()
    place = serializers.IntegerField()
    schema = serializers.IntegerField(help_text="The version of the questions.")
    language = serializers.CharField(allow_blank=True)
    utterances = LabelUtteranceSerializer(many=True)
    label = serializers.JSONField(allow_null=True)  # type: ignore[assignment]  # of fields, not of shapes
    judgement = OwnJudgement(allow_null=True)


class NextShape(serializers.Serializer[Any]):
    items = ItemShape(many=True)


class JudgedShape(ProgressShape):
    id = serializers.UUIDField()
    item = serializers.IntegerField()
    is_right = serializers.BooleanField()
    label = serializers.JSONField(help_text="The annotators', which is shown from now on.")  # type: ignore[assignment]  # of fields, not of shapes
    next = ItemShape(many=True)


class AppealShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    item = serializers.IntegerField()
    batch = serializers.IntegerField()
    round = serializers.IntegerField()
    dialogue = serializers.IntegerField(allow_null=True)
    label = serializers.JSONField()  # type: ignore[assignment]  # of fields, not of shapes
    correction = serializers.JSONField(allow_null=True)
    correction_reason = serializers.CharField(allow_blank=True)
    reason = serializers.CharField()
    by = serializers.CharField()
    raised_at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=AppealState.choices)
    settlement = serializers.CharField(allow_blank=True)
    settled_at = serializers.DateTimeField(allow_null=True)


class CorrectedShape(serializers.Serializer[Any]):
    """item: what an appeal is sent to."""

    item = serializers.IntegerField()
    batch = serializers.IntegerField()
    round = serializers.IntegerField()
    dialogue = serializers.IntegerField(allow_null=True)
    own = serializers.JSONField()
    right = serializers.JSONField()
    was_right = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True)


def of_round(row: Round) -> dict[str, Any]:
    sample = getattr(row, "sample", None)
    return {
        "id": row.pk,
        "batch": row.batch.number,
        "round": row.number,
        "size": row.batch.size,
        "group": row.group,
        "state": row.state,
        "opened_at": row.opened_at,
        "sealed_at": row.sealed_at,
        "ended_at": row.ended_at,
        "ended_by": row.ended_by.username if row.ended_by else None,
        "reason": row.reason,
        "figures": row.figures,
        "sample": sample.pk if sample else None,
    }


def of_listed(row: "CountedRound") -> dict[str, Any]:
    return of_round(row) | {"total": row.total, "done": row.done}


def _estimate(found: Estimate | None) -> dict[str, float | None]:
    if found is None:
        return {"value": None, "low": None, "high": None}
    return {"value": found.value, "low": found.low, "high": found.high}


def of_progress(progress: Progress) -> dict[str, Any]:
    standing, wanted = progress.standing, progress.wanted
    return {
        "standing": {
            **_estimate(standing.accuracy),
            "judged": standing.judged,
            "right": standing.right,
            "sample": standing.sample,
            "decision": standing.decision.value,
            "is_early": standing.is_early,
            "needed": float(wanted.overall),
            "needed_by_class": None if wanted.classes is None else float(wanted.classes),
            "spare": progress.spare,
            "failing": progress.failing,
            "classes": [_class(tally, progress) for tally in standing.tallies],
        },
        "cells": progress.cells,
        "left": progress.left,
    }


def _class(tally: ClassTally, progress: Progress) -> dict[str, Any]:
    return {
        **_estimate(progress.standing.by_class.get(tally.label)),
        "label": tally.label,
        "drawn": None if progress.hides_drawn else tally.sample,
        "judged": tally.judged,
        "right": tally.correct,
        "population": tally.population,
    }


def of_sample(sample: Sample, progress: Progress) -> dict[str, Any]:
    return {
        "id": sample.pk,
        "round": sample.round_id,
        "seed": sample.seed,
        "question": sample.question,
        "is_blind": sample.is_blind,
        "is_stratified": sample.is_stratified,
        "is_double": sample.is_double,
        "population": sample.population,
        "own": sample.own,
        "drawn_by": sample.drawn_by.username if sample.drawn_by else None,
        "drawn_at": sample.drawn_at,
        **of_progress(progress),
    }


def of_appeal(row: Appeal, correction: Judgement | None) -> dict[str, Any]:
    drawn_of = row.item.sample.round
    return {
        "id": row.pk,
        "item": row.item_id,
        "batch": drawn_of.batch.number,
        "round": drawn_of.number,
        "dialogue": row.item.task.dialogue_id,
        "label": row.item.final.answers,
        "correction": correction.answers if correction else None,
        "correction_reason": correction.reason if correction else "",
        "reason": row.reason,
        "by": row.by.username,
        "raised_at": row.raised_at,
        "state": row.state,
        "settlement": row.settlement,
        "settled_at": row.settled_at,
    }


def of_corrected(found: Corrected) -> dict[str, Any]:
    drawn_of = found.item.sample.round
    return {
        "item": found.item.pk,
        "batch": drawn_of.batch.number,
        "round": drawn_of.number,
        "dialogue": found.item.task.dialogue_id,
        "own": found.own,
        "right": found.right,
        "was_right": found.was_right,
        "reason": found.reason,
    }


def progress_in(user: User, sample: Sample) -> dict[str, Any]:
    return of_progress(selectors.progress_of(user, sample))


def next_of(user: User, sample: Sample, count: int, held: list[int] | None = None) -> list[dict[str, Any]]:
    given = reviewer_shares.next_items(user, sample, count, held=held or [])
    for item in given:
        item.sample = sample
    return [selectors.shown_to(user, item) for item in given]
