"""Appeals, and what annotators learn about their judged answers."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from annotation.batch_review.models import Appeal, AppealState, Judgement
from annotation.batch_review.selectors.access import corrections_by_item
from annotation.batch_review.selectors.annotator_accuracy import JudgedAnswer
from annotation.tasks.services.reasons import MAX_REASON
from common.rest.serializers import StrictSerializer


class AppealInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored appeal.")
    reason = serializers.CharField(max_length=MAX_REASON)


class AppealFilters(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=AppealState.choices, required=False)


class SettlementInput(StrictSerializer):
    upheld = serializers.BooleanField(help_text="Whether the label was right.")
    settlement = serializers.CharField(max_length=MAX_REASON, help_text="Why.")


class AppealSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    item = serializers.IntegerField()
    batch = serializers.IntegerField()
    round = serializers.IntegerField()
    dialogue = serializers.IntegerField(allow_null=True)
    label = serializers.JSONField()  # type: ignore[assignment]  # the base class has an attribute of this name
    correction = serializers.JSONField(allow_null=True)
    correction_reason = serializers.CharField(allow_blank=True)
    reason = serializers.CharField()
    by = serializers.CharField()
    raised_at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=AppealState.choices)
    settlement = serializers.CharField(allow_blank=True)
    settled_at = serializers.DateTimeField(allow_null=True)


class JudgedAnswerSerializer(serializers.Serializer[Any]):
    """item: what an appeal is sent to."""

    item = serializers.IntegerField()
    batch = serializers.IntegerField()
    round = serializers.IntegerField()
    dialogue = serializers.IntegerField(allow_null=True)
    own = serializers.JSONField()
    right = serializers.JSONField()
    was_right = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True)


def serialize_appeals(rows: Sequence[Appeal]) -> list[dict[str, Any]]:
    corrections = corrections_by_item(row.item_id for row in rows)
    return [_serialize_appeal(row, corrections.get(row.item_id)) for row in rows]


def _serialize_appeal(row: Appeal, correction: Judgement | None) -> dict[str, Any]:
    sampled = row.item.sample.round
    return {
        "id": row.pk,
        "item": row.item_id,
        "batch": sampled.batch.number,
        "round": sampled.number,
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


def serialize_judged_answer(answer: JudgedAnswer) -> dict[str, Any]:
    sampled = answer.item.sample.round
    return {
        "item": answer.item.pk,
        "batch": sampled.batch.number,
        "round": sampled.number,
        "dialogue": answer.item.task.dialogue_id,
        "own": answer.own,
        "right": answer.right,
        "was_right": answer.was_right,
        "reason": answer.reason,
    }
