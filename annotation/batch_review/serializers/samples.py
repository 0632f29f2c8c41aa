"""Samples, their items and progress, as one controller may see them."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from accounts.models import User
from annotation.batch_review.models import Judgement, LaterJudgement, Sample, SampleItem
from annotation.batch_review.selectors.sample_progress import ControllerClass, controller_progress
from annotation.batch_review.selectors.visibility import is_label_hidden, later_judgements, own_judgement
from annotation.batch_review.services.reservations import reserve_next_items
from annotation.labelling.selectors.workbench import utterances_in
from annotation.labelling.serializers import AnswersField, LabelUtteranceSerializer
from annotation.tasks.serializers import A_DAY_MS, BIGGEST_ID
from annotation.tasks.services.reasons import MAX_REASON
from common.rest.serializers import StrictSerializer
from measures.batch_verdict import BatchVerdict
from measures.estimate import Estimate


class DrawInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the sample.")


class NextFilters(serializers.Serializer[Any]):
    count = serializers.IntegerField(required=False, min_value=1, max_value=5)


class JudgementInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored judgement.")
    answers = AnswersField(
        required=False,
        allow_null=True,
        help_text="The right ones; null: the label is right (not in blind samples).",
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
        help_text="Dialogues that the client already has.",
    )


class ShareSerializer(serializers.Serializer[Any]):
    """A share from 0 to 1 with its 95 % interval."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class SampleClassSerializer(ShareSerializer):
    """drawn, population, spare: null while a blind sample is in review, where they would help to guess a label.

    spare: how many more of the class may be wrong (null: classes are not checked).
    """

    label = serializers.CharField()  # type: ignore[assignment]  # the base class has an attribute of this name
    drawn = serializers.IntegerField(allow_null=True)
    judged = serializers.IntegerField()
    right = serializers.IntegerField()
    population = serializers.IntegerField(allow_null=True)
    spare = serializers.IntegerField(allow_null=True)


class SampleProgressSerializer(ShareSerializer):
    """spare: how many more may be wrong (null: weighted by class); failing: classes that can no longer pass.

    classes: while a blind sample is in review, all that the question has.
    """

    judged = serializers.IntegerField()
    right = serializers.IntegerField()
    sample = serializers.IntegerField()
    decision = serializers.ChoiceField(
        choices=[(decision.value, decision.value) for decision in BatchVerdict]
    )
    is_early = serializers.BooleanField()
    needed = serializers.FloatField()
    needed_by_class = serializers.FloatField(allow_null=True)
    spare = serializers.IntegerField(allow_null=True)
    failing = serializers.ListField(child=serializers.CharField())
    classes = SampleClassSerializer(many=True)


class ControllerProgressSerializer(serializers.Serializer[Any]):
    """cells: one character per dialogue in the order drawn: "." open, "r" right and "w" wrong as you judged, "R" and
    "W" as somebody else did, "o" your own work. left: how many you can still judge."""

    sample_progress = SampleProgressSerializer()
    cells = serializers.CharField()
    left = serializers.IntegerField()


class SampleSerializer(ControllerProgressSerializer):
    id = serializers.UUIDField()
    round = serializers.IntegerField()
    seed = serializers.IntegerField()
    question = serializers.CharField(allow_blank=True)
    is_blind = serializers.BooleanField()
    is_stratified = serializers.BooleanField()
    is_double = serializers.BooleanField()
    population = serializers.IntegerField()
    own = serializers.IntegerField(
        help_text="Dialogues left out because the person who drew had labelled them."
    )
    drawn_by = serializers.CharField(allow_null=True)
    drawn_at = serializers.DateTimeField()


class OwnJudgementSerializer(serializers.Serializer[Any]):
    answers = serializers.JSONField()
    is_right = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True)


class OwnFirstJudgementSerializer(OwnJudgementSerializer):
    later = OwnJudgementSerializer(
        allow_null=True, help_text="What you said after the label was shown; it does not count."
    )


class SampleItemSerializer(serializers.Serializer[Any]):
    """label: null in a blind sample until you have judged."""

    id = serializers.IntegerField()
    place = serializers.IntegerField()
    schema = serializers.IntegerField(help_text="The version of the questions.")
    language = serializers.CharField(allow_blank=True)
    utterances = LabelUtteranceSerializer(many=True)
    label = serializers.JSONField(allow_null=True)  # type: ignore[assignment]  # see SampleClassSerializer
    judgement = OwnFirstJudgementSerializer(allow_null=True)


class NextItemsSerializer(serializers.Serializer[Any]):
    items = SampleItemSerializer(many=True)


class JudgementSerializer(ControllerProgressSerializer):
    id = serializers.UUIDField()
    item = serializers.IntegerField()
    is_right = serializers.BooleanField()
    judgement = OwnFirstJudgementSerializer(help_text="The one that counts: in a blind sample the first.")
    label = serializers.JSONField(help_text="The annotators', which is shown from now on.")  # type: ignore[assignment]  # see SampleClassSerializer
    next = SampleItemSerializer(many=True)


def serialize_sample_for(controller: User, sample: Sample) -> dict[str, Any]:
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
        **serialize_progress_for(controller, sample),
    }


def serialize_progress_for(controller: User, sample: Sample) -> dict[str, Any]:
    seen = controller_progress(controller, sample)
    progress, thresholds = seen.progress, seen.thresholds
    return {
        "sample_progress": {
            **_serialize_estimate(progress.accuracy),
            "judged": progress.judged,
            "right": progress.right,
            "sample": progress.sample,
            "decision": progress.decision.value,
            "is_early": progress.is_early,
            "needed": float(thresholds.overall),
            "needed_by_class": None if thresholds.classes is None else float(thresholds.classes),
            "spare": seen.spare,
            "failing": seen.failing,
            "classes": [_serialize_class(row) for row in seen.classes],
        },
        "cells": seen.cells,
        "left": seen.left,
    }


def _serialize_class(row: ControllerClass) -> dict[str, Any]:
    return {
        **_serialize_estimate(row.estimate),
        "label": row.label,
        "drawn": row.drawn,
        "judged": row.judged,
        "right": row.right,
        "population": row.population,
        "spare": row.spare,
    }


def _serialize_estimate(estimate: Estimate) -> dict[str, float | None]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def serialize_item_for(controller: User, item: SampleItem) -> dict[str, Any]:
    """The dialogue with the controller's own judgement, and with its label if they may see it."""
    own, dialogue = own_judgement(controller, item), item.task.dialogue
    return {
        "id": item.pk,
        "place": item.place,
        "schema": item.final.schema.version,
        "language": dialogue.language if dialogue else "",
        "utterances": utterances_in(dialogue.pk) if dialogue else [],
        "label": None if is_label_hidden(item, own) else item.final.answers,
        "judgement": own and _serialize_own(own),
    }


def _serialize_own(judgement: Judgement) -> dict[str, Any]:
    later = later_judgements([judgement]).get(judgement.pk)
    return _serialize_answers(judgement) | {"later": later and _serialize_answers(later)}


def _serialize_answers(row: Judgement | LaterJudgement) -> dict[str, Any]:
    return {"answers": row.answers, "is_right": row.is_right, "reason": row.reason}


def serialize_next_items(
    controller: User, sample: Sample, count: int, held: Iterable[int] = ()
) -> list[dict[str, Any]]:
    """Reserve the next dialogues for the controller, beyond those that they hold, and serialize them."""
    items = reserve_next_items(controller, sample, count, held=held)
    for item in items:
        item.sample = sample
    return [serialize_item_for(controller, item) for item in items]


def serialize_judgement(judgement: Judgement, item: SampleItem) -> dict[str, Any]:
    return {
        "id": judgement.pk,
        "item": item.pk,
        "is_right": judgement.is_right,
        "judgement": _serialize_own(judgement),
        "label": item.final.answers,
    }
