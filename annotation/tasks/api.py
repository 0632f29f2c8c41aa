"""REST API of a project's tasks: when the open work will be done."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.tasks.selectors.forecast import forecast_of
from projects.roles import Capability
from projects.selectors import project_for


class ForecastSerializer(serializers.Serializer[Any]):
    """Days with a 95 % interval; null if it cannot be said. A piece of work is one person's dialogue."""

    open = serializers.IntegerField(source="numbers.open", help_text="Pieces of work.")
    per_day = serializers.FloatField(source="numbers.per_day", help_text="Mean pieces finished a day.")
    observed = serializers.IntegerField(source="numbers.observed", help_text="Full days, 14 at most.")
    worked = serializers.IntegerField(source="numbers.worked", help_text="Of them, days with work.")
    middle = serializers.DateField(allow_null=True)
    low = serializers.DateField(allow_null=True)
    high = serializers.DateField(allow_null=True, help_text="null beside a low: no end can be promised.")


class ForecastView(APIView):
    @extend_schema(tags=["Statistics"], operation_id="forecast_read", responses=ForecastSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """When the open work will be done, at the pace of the last 14 days."""
        project = project_for(person(request), slug, Capability.READ_STATISTICS)
        return Response(ForecastSerializer(forecast_of(project)).data)


urlpatterns = [path("projects/<slug:slug>/forecast/", ForecastView.as_view())]
