"""REST API of a project's statistics: the numbers of the page, as JSON."""

from dataclasses import asdict
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.authoring.selectors.model_comparison import model_comparisons
from annotation.authoring.selectors.settings import authoring_of
from annotation.authoring.selectors.statistics import Statistics
from projects.roles import Capability
from projects.selectors import project_for


class ActionsSerializer(serializers.Serializer[Any]):
    select = serializers.IntegerField()
    revise = serializers.IntegerField()
    rewrite = serializers.IntegerField()


class ColumnSerializer(serializers.Serializer[Any]):
    """mean_length: characters per utterance."""

    split = serializers.CharField()
    dialogues = serializers.IntegerField()
    utterances = serializers.IntegerField()
    mean_length = serializers.FloatField(allow_null=True)
    actions = ActionsSerializer()


class PersonSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    display_name = serializers.CharField(allow_blank=True)


class PeriodSerializer(serializers.Serializer[Any]):
    start = serializers.DateField()
    actions = ActionsSerializer()


class CourseSerializer(serializers.Serializer[Any]):
    unit = serializers.ChoiceField(choices=["day", "week", "month"])
    periods = PeriodSerializer(many=True)


class PersonsActionsSerializer(serializers.Serializer[Any]):
    person = PersonSerializer()
    actions = ActionsSerializer()


class PaceSerializer(serializers.Serializer[Any]):
    """Seconds per turn: active and idle medians, and the 90th percentile of the active ones."""

    person = PersonSerializer()
    turns = serializers.IntegerField()
    active = serializers.FloatField()
    active_p90 = serializers.FloatField()
    idle = serializers.FloatField()


class BarSerializer(serializers.Serializer[Any]):
    value = serializers.IntegerField()
    count = serializers.IntegerField()


class EstimateSerializer(serializers.Serializer[Any]):
    """A value with its 95 % interval, from n items; null where there is none."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()


class SideSerializer(serializers.Serializer[Any]):
    """A model's candidates: how many were shown, in how many turns one was taken (selected or revised), and shares of
    those shown."""

    shown = serializers.IntegerField()
    won = serializers.IntegerField()
    selected = EstimateSerializer()
    revised = EstimateSerializer()
    taken = EstimateSerializer()
    ignored = EstimateSerializer()


class ContestSerializer(serializers.Serializer[Any]):
    """share: of the `decided` turns, those that the newer model won; expected: that share if nobody had a preference;
    excess: share - expected; ratio: how often one of its candidates was taken, over that of the older model."""

    newer = SideSerializer()
    older = SideSerializer()
    decided = serializers.IntegerField()
    share = EstimateSerializer()
    expected = serializers.FloatField(allow_null=True)
    excess = EstimateSerializer()
    ratio = EstimateSerializer()


class ModelComparisonSerializer(serializers.Serializer[Any]):
    """Two models whose candidates were mixed. turns: with candidates of both."""

    newer = serializers.CharField()
    older = serializers.CharField()
    turns = serializers.IntegerField()
    dialogues = serializers.IntegerField()
    contest = ContestSerializer()


class StatisticsSerializer(serializers.Serializer[Any]):
    """table_one: Table 1 of the paper, a column per split and the total. Shares are counts over their sum."""

    table_one = ColumnSerializer(many=True)
    actions_over_time = CourseSerializer()
    actions_by_annotator = PersonsActionsSerializer(many=True)
    edit_distances = BarSerializer(many=True)
    places_chosen = BarSerializer(many=True)
    paces = PaceSerializer(many=True)
    model_comparisons = ModelComparisonSerializer(many=True)


class StatisticsView(APIView):
    @extend_schema(tags=["Statistics"], operation_id="statistics_read", responses=StatisticsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """How a project's dialogues came about."""
        project = project_for(person(request), slug, Capability.READ_STATISTICS)
        authoring_of(project)  # other protocols have other numbers
        numbers = Statistics(project)
        body = {
            "table_one": [asdict(column) for column in numbers.table_one()],
            "actions_over_time": asdict(numbers.actions_over_time()),
            "actions_by_annotator": [asdict(one) for one in numbers.actions_by_annotator()],
            "edit_distances": [asdict(bar) for bar in numbers.edit_distances()],
            "places_chosen": [asdict(bar) for bar in numbers.places_chosen()],
            "paces": [asdict(one) for one in numbers.paces()],
            "model_comparisons": [asdict(one) for one in model_comparisons(project)],
        }
        return Response(StatisticsSerializer(body).data)


urlpatterns = [path("projects/<slug:slug>/statistics/", StatisticsView.as_view())]
