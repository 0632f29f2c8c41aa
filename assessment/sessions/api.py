"""REST API of assessment runs: create, open, close, links for participants, and who took part."""

from typing import Any, cast

from django.urls import path, reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.rest.person import person
from assessment.sessions.models.participants import Assignment
from assessment.sessions.models.runs import Run
from assessment.sessions.selectors.assignments import completion_code
from assessment.sessions.selectors.runs import participants_of, run_in, run_progress, runs_of, writing_logs
from assessment.sessions.serializers import (
    LinksInput,
    LinksSerializer,
    OpeningInput,
    ParticipantFilters,
    ParticipantSerializer,
    PlacesInput,
    RunInput,
    RunSerializer,
    RunWithProgressSerializer,
    serialize_participant,
    serialize_run,
)
from assessment.sessions.services.links import link_query, panel_query
from assessment.sessions.services.runs import change_places, close_run, create_run, open_run
from assessment.setup.selectors import assessment_project
from common.rest.pagination import CursorPagination, NewestFirst, paginated_response
from common.rest.serializers import validated_input, validated_query
from projects.roles import Capability

TAG = ["Assessment runs"]


class NewestRuns(CursorPagination):
    ordering = "-number"


class RunsView(APIView):
    pagination_class = NewestRuns

    @extend_schema(tags=TAG, operation_id="assessment_runs_list", responses=RunSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The runs of an assessment project, the newest first."""
        project = assessment_project(person(request), slug, Capability.READ_STATISTICS)
        return paginated_response(self, request, runs_of(project), RunSerializer)

    @extend_schema(
        tags=TAG, operation_id="assessment_runs_create", request=RunInput, responses={201: RunSerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create a run. Nobody can enter before it is opened."""
        user = person(request)
        project = assessment_project(user, slug, Capability.CONFIGURE)
        sent = validated_input(RunInput, request)
        run = create_run(project=project, actor=user, creation_id=sent.pop("id"), **sent)
        return Response(RunSerializer(run).data, status=status.HTTP_201_CREATED)


class RunView(APIView):
    @extend_schema(tags=TAG, operation_id="assessment_runs_read", responses=RunWithProgressSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """One run with its progress: participants by state, sessions by system."""
        run = _run(person(request), slug, number, Capability.READ_STATISTICS)
        return Response(_describe(request, run))

    @extend_schema(
        tags=TAG,
        operation_id="assessment_runs_update",
        request=PlacesInput,
        responses=RunWithProgressSerializer,
    )
    def patch(self, request: Request, slug: str, number: int) -> Response:
        """Change how many participants are wanted; never fewer than have entered."""
        user = person(request)
        run = _run(user, slug, number, Capability.CONFIGURE)
        sent = validated_input(PlacesInput, request)
        return Response(_describe(request, change_places(run=run, actor=user, places=sent["places"])))


class OpenRunView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="assessment_runs_open",
        request=OpeningInput,
        responses=RunWithProgressSerializer,
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Let participants enter. Codes: no_systems, no_places, unproven_systems."""
        user = person(request)
        run = _run(user, slug, number, Capability.CONFIGURE)
        sent = validated_input(OpeningInput, request)
        return Response(_describe(request, open_run(run=run, actor=user, **sent)))


class CloseRunView(APIView):
    @extend_schema(
        tags=TAG, operation_id="assessment_runs_close", request=None, responses=RunWithProgressSerializer
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Let nobody else enter; those who have begun finish."""
        user = person(request)
        run = _run(user, slug, number, Capability.CONFIGURE)
        return Response(_describe(request, close_run(run=run, actor=user)))


class LinksView(APIView):
    @extend_schema(
        tags=TAG, operation_id="assessment_runs_links", request=LinksInput, responses=LinksSerializer
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Signed join links, one for each name of a participant. The same name gets the same link."""
        run = _run(person(request), slug, number, Capability.CONFIGURE)
        settings = run.project.assessment
        links = [
            {
                "participant": name,
                "address": _address(request, run, link_query(settings, run.number, {"participant": name})),
            }
            for name in validated_input(LinksInput, request)["participants"]
        ]
        return Response({"links": links})


class ParticipantsView(APIView):
    pagination_class = NewestFirst

    @extend_schema(
        tags=TAG,
        operation_id="assessment_participants_list",
        parameters=[ParticipantFilters],
        responses=ParticipantSerializer(many=True),
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Who took part in a run: state, completion code, minutes, and what stands out in how they wrote."""
        run = _run(person(request), slug, number, Capability.READ_STATISTICS)
        rows = participants_of(run.project, run, **validated_query(ParticipantFilters, request))
        pages = self.pagination_class()
        page = cast(list[Assignment], pages.paginate_queryset(rows, request, view=self) or [])
        logs, settings = writing_logs(page), run.project.assessment
        content = [serialize_participant(row, logs[row.pk], completion_code(row, settings)) for row in page]
        return pages.get_paginated_response(content)


def _run(user: User, slug: str, number: int, capability: Capability) -> Run:
    return run_in(assessment_project(user, slug, capability), number)


def _describe(request: Request, run: Run) -> dict[str, Any]:
    address = _address(request, run, panel_query(run.project.assessment, run.number))
    return serialize_run(run, run_progress(run), address)


def _address(request: Request, run: Run, query: str) -> str:
    return request.build_absolute_uri(reverse("join", args=[run.project.slug])) + f"?{query}"


urlpatterns = [
    path("projects/<slug:slug>/runs/", RunsView.as_view()),
    path("projects/<slug:slug>/runs/<int:number>/", RunView.as_view()),
    path("projects/<slug:slug>/runs/<int:number>/open/", OpenRunView.as_view()),
    path("projects/<slug:slug>/runs/<int:number>/close/", CloseRunView.as_view()),
    path("projects/<slug:slug>/runs/<int:number>/links/", LinksView.as_view()),
    path("projects/<slug:slug>/runs/<int:number>/participants/", ParticipantsView.as_view()),
]
