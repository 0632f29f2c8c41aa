"""The batch plan and the boards in numbers."""

from typing import Any

from rest_framework import serializers

from annotation.batch_review.models import BatchPlan
from annotation.batch_review.selectors.boards import Boards
from annotation.batch_review.services.batch_plan import PLAN_FIELDS
from common.rest.serializers import StrictSerializer
from measures.proportion import Proportion


class BatchPlanSerializer(serializers.ModelSerializer[BatchPlan]):
    """question: the key of the one that accuracy is about; empty: every compared answer has to be right."""

    class Meta:
        model = BatchPlan
        fields = PLAN_FIELDS


class BatchPlanInput(StrictSerializer, BatchPlanSerializer):
    """Any of them."""

    class Meta(BatchPlanSerializer.Meta):
        extra_kwargs = {name: {"required": False} for name in PLAN_FIELDS}


class AcceptedShareSerializer(serializers.Serializer[Any]):
    """accepted of rounds, as a share with its 95 % interval; null without rounds."""

    accepted = serializers.IntegerField()
    rounds = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class GroupAcceptedSerializer(AcceptedShareSerializer):
    group = serializers.CharField(allow_blank=True)


class TimeAcceptedSerializer(AcceptedShareSerializer):
    """start: the first day of the week or month."""

    start = serializers.DateField()


class ControllerLoadSerializer(serializers.Serializer[Any]):
    """corrected: share of the labels judged. seconds: mean active time per dialogue."""

    controller = serializers.CharField()
    samples = serializers.IntegerField()
    judged = serializers.IntegerField()
    corrected = serializers.FloatField(allow_null=True)
    seconds = serializers.FloatField()


class BoardsSerializer(serializers.Serializer[Any]):
    """rounds_needed: accepted batches by how many rounds they took; more_than_one: the share with several."""

    states = serializers.DictField(child=serializers.IntegerField())
    rounds_needed = serializers.DictField(child=serializers.IntegerField())
    more_than_one = serializers.FloatField(allow_null=True)
    groups = GroupAcceptedSerializer(many=True)
    unit = serializers.ChoiceField(choices=[("week", "week"), ("month", "month")])
    over_time = TimeAcceptedSerializer(many=True)
    controllers = ControllerLoadSerializer(many=True)


def serialize_boards(boards: Boards) -> dict[str, Any]:
    unit, course = boards.over_time()
    return {
        "states": boards.by_state(),
        "rounds_needed": {str(number): n for number, n in boards.rounds_needed().items()},
        "more_than_one": boards.share_with_several_rounds().share,
        "groups": [{"group": group, **_serialize_share(share)} for group, share in boards.by_group().items()],
        "unit": unit,
        "over_time": [{"start": start, **_serialize_share(share)} for start, share in course],
        "controllers": [
            {
                "controller": load.username,
                "samples": load.samples,
                "judged": load.judged,
                "corrected": load.wrong.share,
                "seconds": load.seconds,
            }
            for load in boards.loads()
        ],
    }


def _serialize_share(share: Proportion) -> dict[str, Any]:
    return {
        "accepted": share.count,
        "rounds": share.n,
        "share": share.share,
        "low": share.low,
        "high": share.high,
    }
