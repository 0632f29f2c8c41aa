"""REST API of the report of an assessment project."""

from math import isfinite
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from assessment.report.selectors.report_cache import cached_reports
from assessment.report.serializers import serialize_report
from assessment.setup.models import AssessmentSettings
from assessment.setup.selectors import assessment_project
from common.rest.serializers import validated_query
from projects.roles import Capability


class ReportQuery(serializers.Serializer[Any]):
    run = serializers.IntegerField(required=False, min_value=1, help_text="Only the run with this number.")
    threshold = serializers.FloatField(
        required=False,
        min_value=1e-6,
        max_value=1,
        help_text="Participants pass the reliability test if p is below it. Default: the project's.",
    )

    def validate_threshold(self, value: float) -> float:
        if not isfinite(value):  # "nan" is neither too small nor too large
            self.fields["threshold"].fail("invalid")
        return value


class ParticipantCountsSerializer(serializers.Serializer[Any]):
    all = serializers.IntegerField()
    passed = serializers.IntegerField()


class MinutesSerializer(serializers.Serializer[Any]):
    all = serializers.FloatField(allow_null=True)
    passed = serializers.FloatField(allow_null=True)
    failed = serializers.FloatField(allow_null=True)


class SystemScoresSerializer(serializers.Serializer[Any]):
    """Standardised scores; null if undefined. low, high: the 95 % interval of the overall score. n: ratings."""

    system = serializers.CharField()
    n = serializers.IntegerField()
    overall = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    scores = serializers.DictField(child=serializers.FloatField(allow_null=True))
    intervals = serializers.DictField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="95 %, of the scores.",
    )
    raw = serializers.DictField(child=serializers.FloatField(allow_null=True), help_text="0 to 100.")


class PairTestSerializer(serializers.Serializer[Any]):
    better = serializers.CharField()
    worse = serializers.CharField()
    p = serializers.FloatField(allow_null=True, help_text="One-sided Mann-Whitney test.")


class CorrelationsSerializer(serializers.Serializer[Any]):
    pearson = serializers.FloatField(allow_null=True)
    spearman = serializers.FloatField(allow_null=True)
    kendall = serializers.FloatField(allow_null=True)


class ScoreCorrelationsSerializer(CorrelationsSerializer):
    scores = serializers.ListField(child=serializers.CharField())


class AgreementSerializer(serializers.Serializer[Any]):
    pairs = serializers.IntegerField()
    median = serializers.FloatField(allow_null=True)


class AgreementsSerializer(serializers.Serializer[Any]):
    """Pearson's r of every two assignments with the same systems."""

    passed = AgreementSerializer()
    failed = AgreementSerializer()


class ReliabilitySerializer(serializers.Serializer[Any]):
    participant = serializers.IntegerField()
    p = serializers.FloatField(allow_null=True, help_text="null if there is nothing to compare.")
    passed = serializers.BooleanField()
    ratings = serializers.IntegerField(help_text="Of ordinary systems, as far as the test uses them.")
    ratings_of_degraded = serializers.IntegerField()


class CountsSerializer(serializers.Serializer[Any]):
    passed = serializers.DictField(child=serializers.IntegerField())
    failed = serializers.DictField(child=serializers.IntegerField())


class LengthsSerializer(serializers.Serializer[Any]):
    passed = serializers.DictField(child=serializers.FloatField(allow_null=True))
    failed = serializers.DictField(child=serializers.FloatField(allow_null=True))


class RunReportSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField()
    threshold = serializers.FloatField(help_text="Participants with a smaller p passed.")
    participants = ParticipantCountsSerializer()
    dialogues = ParticipantCountsSerializer()
    minutes_per_dialogue = MinutesSerializer()
    systems = SystemScoresSerializer(many=True)
    pairwise = PairTestSerializer(many=True)
    correlations = ScoreCorrelationsSerializer(many=True)
    agreement = AgreementsSerializer()
    reliability = ReliabilitySerializer(many=True)
    topics = CountsSerializer()
    topic_changes = CountsSerializer()
    median_lengths = LengthsSerializer()


class ReplicationSerializer(serializers.Serializer[Any]):
    runs = serializers.ListField(child=serializers.IntegerField())
    scores = serializers.DictField(child=CorrelationsSerializer())
    same_conclusions = serializers.DictField(child=serializers.FloatField(allow_null=True))


class ReportSerializer(serializers.Serializer[Any]):
    runs = RunReportSerializer(many=True)
    replication = ReplicationSerializer(many=True)


class AssessmentReportView(APIView):
    @extend_schema(
        tags=["Statistics"],
        operation_id="assessment_report_read",
        parameters=[ReportQuery],
        responses=ReportSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        """What participants think of the systems, like `manage.py assessment_report --json`."""
        project = assessment_project(person(request), slug, Capability.READ_STATISTICS)
        query = validated_query(ReportQuery, request)
        settings = AssessmentSettings.objects.get(project=project)
        reports = cached_reports(project, settings, query.get("threshold"))
        number = query.get("run")
        return Response(serialize_report([each for each in reports if number in (None, each.run.number)]))


urlpatterns = [path("projects/<slug:slug>/assessment-report/", AssessmentReportView.as_view())]
