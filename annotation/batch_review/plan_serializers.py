"""Shapes of the REST API for who manages batches: the plan, and the boards in numbers."""

from typing import Any

from rest_framework import serializers

from annotation.batch_review.models import BatchPlan
from annotation.batch_review.selectors.boards import Boards
from annotation.batch_review.services.plan import BATCHES
from common.rest.serializers import StrictSerializer
from measures.proportion import Proportion


class PlanShape(serializers.ModelSerializer[BatchPlan]):
    """question: the key of the one that accuracy is about; empty: every compared answer has to be right."""

    class Meta:
        model = BatchPlan
        fields = BATCHES


class PlanInput(StrictSerializer, PlanShape):
    """Any of them."""

    class Meta(PlanShape.Meta):
        extra_kwargs = {name: {"required": False} for name in BATCHES}


class ShareShape(serializers.Serializer[Any]):
    """accepted of rounds: their share, null of none, with its 95 % interval."""

    accepted = serializers.IntegerField()
    rounds = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class GroupAccepted(ShareShape):
    group = serializers.CharField(allow_blank=True)


class TimeAccepted(ShareShape):
    """start: the first day of the week or month."""

    start = serializers.DateField()


class LoadShape(serializers.Serializer[Any]):
    """corrected: share of the labels judged. seconds: active, the mean of a dialogue."""

    controller = serializers.CharField()
    samples = serializers.IntegerField()
    judged = serializers.IntegerField()
    corrected = serializers.FloatField(allow_null=True)
    seconds = serializers.FloatField()


class BoardsShape(serializers.Serializer[Any]):
    """rounds_needed: accepted batches, by how many rounds they took; more_than_one: the share with several."""

    states = serializers.DictField(child=serializers.IntegerField())
    rounds_needed = serializers.DictField(child=serializers.IntegerField())
    more_than_one = serializers.FloatField(allow_null=True)
    groups = GroupAccepted(many=True)
    unit = serializers.ChoiceField(choices=[("week", "week"), ("month", "month")])
    over_time = TimeAccepted(many=True)
    controllers = LoadShape(many=True)


def _share(part: Proportion) -> dict[str, Any]:
    return {"accepted": part.count, "rounds": part.n, "share": part.share, "low": part.low, "high": part.high}


def of_boards(boards: Boards) -> dict[str, Any]:
    unit, course = boards.over_time()
    return {
        "states": boards.by_state(),
        "rounds_needed": {str(number): n for number, n in boards.rounds_needed().items()},
        "more_than_one": boards.needing_more().share,
        "groups": [{"group": group, **_share(part)} for group, part in boards.by_group().items()],
        "unit": unit,
        "over_time": [{"start": start, **_share(part)} for start, part in course],
        "controllers": [
            {
                "controller": one.username,
                "samples": one.samples,
                "judged": one.judged,
                "corrected": one.wrong.share,
                "seconds": one.seconds,
            }
            for one in boards.loads()
        ],
    }
