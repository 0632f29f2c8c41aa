"""REST API of the statistics of an authoring project."""

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
from annotation.authoring.selectors.settings import authoring_settings_of
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
    derived = serializers.IntegerField(help_text="Of the actions, derived from the texts on import.")


class PersonSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    display_name = serializers.CharField(allow_blank=True)


class PeriodSerializer(serializers.Serializer[Any]):
    start = serializers.DateField()
    actions = ActionsSerializer()


class TimelineSerializer(serializers.Serializer[Any]):
    unit = serializers.ChoiceField(choices=["day", "week", "month"])
    periods = PeriodSerializer(many=True)


class AnnotatorActionsSerializer(serializers.Serializer[Any]):
    person = PersonSerializer()
    actions = ActionsSerializer()


class PaceSerializer(serializers.Serializer[Any]):
    """Seconds per turn: median and 90th percentile of the active time, mean of the idle time."""

    person = PersonSerializer()
    turns = serializers.IntegerField()
    active = serializers.FloatField()
    active_p90 = serializers.FloatField()
    idle = serializers.FloatField()


class BarSerializer(serializers.Serializer[Any]):
    value = serializers.IntegerField()
    count = serializers.IntegerField()


class EstimateSerializer(serializers.Serializer[Any]):
    """A value with its 95 % interval, from n items; null if undefined."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()


class ModelCandidatesSerializer(serializers.Serializer[Any]):
    """A model's candidates: how many were shown, in how many turns one was taken (selected or revised), and the shares
    of the candidates shown."""

    shown = serializers.IntegerField()
    won = serializers.IntegerField()
    selected = EstimateSerializer()
    revised = EstimateSerializer()
    taken = EstimateSerializer()
    ignored = EstimateSerializer()


class PairedComparisonSerializer(serializers.Serializer[Any]):
    """share: of the `decided` turns, those that the newer model won; expected: that share if nobody had a preference;
    excess: share - expected; ratio: how often one of its candidates was taken, over that of the older model."""

    newer = ModelCandidatesSerializer()
    older = ModelCandidatesSerializer()
    decided = serializers.IntegerField()
    share = EstimateSerializer()
    expected = serializers.FloatField(allow_null=True)
    excess = EstimateSerializer()
    ratio = EstimateSerializer()


class ModelComparisonSerializer(serializers.Serializer[Any]):
    """Two models whose candidates were mixed. turns: those with candidates of both models."""

    newer = serializers.CharField()
    older = serializers.CharField()
    turns = serializers.IntegerField()
    dialogues = serializers.IntegerField()
    paired_comparison = PairedComparisonSerializer()


class StatisticsSerializer(serializers.Serializer[Any]):
    """table_one: Table 1 of the paper, a column per split and the total. Shares are counts over their sum."""

    table_one = ColumnSerializer(many=True)
    actions_over_time = TimelineSerializer()
    actions_by_annotator = AnnotatorActionsSerializer(many=True)
    edit_distances = BarSerializer(many=True)
    places_chosen = BarSerializer(many=True)
    paces = PaceSerializer(many=True)
    model_comparisons = ModelComparisonSerializer(many=True)


class StatisticsView(APIView):
    @extend_schema(tags=["Statistics"], operation_id="statistics_read", responses=StatisticsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """How the dialogues of a project were written."""
        project = project_for(person(request), slug, Capability.READ_STATISTICS)
        authoring_settings_of(project)  # NotFound for other protocols
        statistics = Statistics(project)
        answer = {
            "table_one": [asdict(column) for column in statistics.table_one()],
            "actions_over_time": asdict(statistics.actions_over_time()),
            "actions_by_annotator": [asdict(row) for row in statistics.actions_by_annotator()],
            "edit_distances": [asdict(bar) for bar in statistics.edit_distances()],
            "places_chosen": [asdict(bar) for bar in statistics.places_chosen()],
            "paces": [asdict(row) for row in statistics.paces()],
            "model_comparisons": [asdict(row) for row in model_comparisons(project)],
        }
        return Response(StatisticsSerializer(answer).data)


urlpatterns = [path("projects/<slug:slug>/statistics/", StatisticsView.as_view())]
