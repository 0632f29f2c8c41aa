"""REST API of a person's work, for managers."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.people.selectors import person_report
from common.rest.serializers import StrictSerializer, validated_input
from projects.models import Project
from projects.roles import Capability
from projects.selectors import find_member, project_for
from projects.services import MAX_CURRENCY, set_hourly_rate


class IntervalSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()


class CountedShareSerializer(serializers.Serializer[Any]):
    share = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()


class QuestionAgreementSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Of the question; empty: with the final labels.")
    share = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Compared pairs.")


class WeekSerializer(serializers.Serializer[Any]):
    monday = serializers.DateField()
    finished = serializers.IntegerField()


class PersonReportSerializer(serializers.Serializer[Any]):
    seconds = IntervalSerializer(help_text="Median active time per turn or label.")
    agreement = QuestionAgreementSerializer(many=True)
    gold = CountedShareSerializer(help_text="Gold dialogues answered without a mistake.")
    judged = CountedShareSerializer(help_text="Right in judged samples; in authoring: passed by experts.")
    active_hours = serializers.FloatField()
    finished = serializers.IntegerField(help_text="Dialogues.")
    cost = serializers.DecimalField(max_digits=12, decimal_places=2, allow_null=True)
    weeks = serializers.SerializerMethodField()

    @extend_schema_field(WeekSerializer(many=True))
    def get_weeks(self, report: Any) -> list[dict[str, Any]]:
        return [{"monday": monday, "finished": n} for monday, n in report.weeks]


class PersonReportView(APIView):
    @extend_schema(tags=["Members"], operation_id="members_report", responses=PersonReportSerializer)
    def get(self, request: Request, slug: str, username: str) -> Response:
        """How a member works: speed, agreement, accuracy, work per week, cost. For managers."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        return Response(PersonReportSerializer(person_report(project, find_member(project, username))).data)


class RateSerializer(serializers.ModelSerializer[Project]):
    class Meta:
        model = Project
        fields = ["hourly_rate", "currency"]


class RateInput(StrictSerializer):
    hourly_rate = serializers.DecimalField(
        max_digits=8, decimal_places=2, min_value=0, allow_null=True, help_text="null: no cost is shown."
    )
    currency = serializers.CharField(required=False, allow_blank=True, max_length=MAX_CURRENCY, default="")


class RateView(APIView):
    @extend_schema(tags=["Members"], operation_id="rate_read", responses=RateSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """What an hour of active work costs. For managers."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        return Response(RateSerializer(project).data)

    @extend_schema(tags=["Members"], operation_id="rate_set", request=RateInput, responses=RateSerializer)
    def put(self, request: Request, slug: str) -> Response:
        """Set what an hour of active work costs; the reports of members show their cost then."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        project = set_hourly_rate(
            project=project, actor=person(request), **validated_input(RateInput, request)
        )
        return Response(RateSerializer(project).data)


urlpatterns = [
    path("projects/<slug:slug>/rate/", RateView.as_view()),
    path("projects/<slug:slug>/members/<str:username>/report/", PersonReportView.as_view()),
]
