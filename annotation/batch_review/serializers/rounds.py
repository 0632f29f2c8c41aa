"""Batches and their rounds."""

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.services.reasons import MAX_REASON
from common.rest.serializers import StrictSerializer

if TYPE_CHECKING:
    from annotation.batch_review.selectors.rounds import CountedRound

DECISION_ID = "Made by the client; a second send changes nothing."


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
        help_text="Who labels them, in turns; by default the project's groups; empty: anybody.",
    )
    with_rest = serializers.BooleanField(
        required=False, default=True, help_text="Also the last batch, which may be smaller."
    )


class RoundFilters(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=RoundState.choices, required=False)
    batch = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="Number of the batch."
    )
    group = serializers.CharField(required=False, max_length=40)


class UnsealInput(StrictSerializer):
    reason = serializers.CharField(max_length=MAX_REASON)


class RegroupInput(StrictSerializer):
    group = serializers.CharField(allow_blank=True, max_length=40, help_text="Empty: anybody.")


class AcceptInput(StrictSerializer):
    id = serializers.UUIDField(help_text=DECISION_ID)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=MAX_REASON)


class ReturnInput(StrictSerializer):
    id = serializers.UUIDField(help_text=DECISION_ID)
    reason = serializers.CharField(max_length=MAX_REASON)
    group = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text="Who labels it again; by default as planned.",
    )


class UndoVerdictInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Of the verdict that is undone.")


class BatchSerializer(serializers.ModelSerializer[Batch]):
    class Meta:
        model = Batch
        fields = ["number", "size", "created_at"]


class CutBatchesSerializer(serializers.Serializer[Any]):
    batches = BatchSerializer(many=True)


class RoundSerializer(serializers.Serializer[Any]):
    """figures: what the verdict of an ended round rested on."""

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


class RoundWithCountsSerializer(RoundSerializer):
    """total, done: dialogues, and those with their final label."""

    total = serializers.IntegerField()
    done = serializers.IntegerField()


class ReturnedRoundSerializer(serializers.Serializer[Any]):
    round = RoundSerializer()
    next = RoundSerializer()


def serialize_round(row: Round) -> dict[str, Any]:
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


def serialize_round_with_counts(row: "CountedRound") -> dict[str, Any]:
    return serialize_round(row) | {"total": row.total, "done": row.done}
