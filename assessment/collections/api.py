"""REST API of collections: start, progress, cancel, retry, and the report as JSON and CSV."""

import csv
from typing import Any, cast
from uuid import UUID

from django.http import HttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.rest.person import person
from assessment.collections.models import Collection
from assessment.collections.selectors.collections import (
    collection_in,
    collections_of,
    progress_of,
    systems_by_name,
)
from assessment.collections.selectors.report import collection_report
from assessment.collections.serializers import (
    CSV_HEAD,
    CollectionInput,
    CollectionReportSerializer,
    CollectionSerializer,
    report_rows,
    serialize_collection,
    serialize_report,
)
from assessment.collections.services.starting import CollectionPlan, retry_collection, start_collection
from assessment.sessions.selectors.runs import run_in
from assessment.setup.selectors import assessment_project
from common.rest.pagination import NewestByTime
from common.rest.serializers import validated_input
from common.spreadsheets import escape_formula
from jobs.services import cancel_job
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Assessment collections"]


class CollectionsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="collections_list", responses=CollectionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The collections of an assessment project, the newest first."""
        project = assessment_project(person(request), slug, Capability.READ_STATISTICS)
        pages = self.pagination_class()
        page = cast(
            list[Collection], pages.paginate_queryset(collections_of(project), request, view=self) or []
        )
        progress = progress_of(page)
        return pages.get_paginated_response([serialize_collection(row, progress[row.pk]) for row in page])

    @extend_schema(
        tags=TAG,
        operation_id="collections_create",
        request=CollectionInput,
        responses={201: CollectionSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start a collection: systems make dialogues, and raters of the target get them. Code: too_large."""
        user = person(request)
        project = assessment_project(user, slug, Capability.CONFIGURE)
        sent = validated_input(CollectionInput, request)
        collection = start_collection(
            collection_id=sent.pop("id"), project=project, actor=user, plan=_plan(user, project, sent)
        )
        return Response(_describe(collection), status=status.HTTP_201_CREATED)


class CollectionView(APIView):
    @extend_schema(tags=TAG, operation_id="collections_read", responses=CollectionSerializer)
    def get(self, request: Request, slug: str, pk: UUID) -> Response:
        """One collection with its progress. Poll every second or two until `state` is done, failed or cancelled."""
        return Response(_describe(_collection(person(request), slug, pk, Capability.READ_STATISTICS)))


class CancelCollectionView(APIView):
    @extend_schema(tags=TAG, operation_id="collections_cancel", request=None, responses=CollectionSerializer)
    def post(self, request: Request, slug: str, pk: UUID) -> Response:
        """Stop after the replies that are being made. What is made stays. Safe to repeat."""
        user = person(request)
        collection = _collection(user, slug, pk, Capability.CONFIGURE)
        collection.job = cancel_job(job=collection.job, actor=user)
        return Response(_describe(collection))


class RetryCollectionView(APIView):
    @extend_schema(tags=TAG, operation_id="collections_retry", request=None, responses=CollectionSerializer)
    def post(self, request: Request, slug: str, pk: UUID) -> Response:
        """Make what is missing after a failure or a cancellation. Code: complete."""
        user = person(request)
        collection = _collection(user, slug, pk, Capability.CONFIGURE)
        return Response(_describe(retry_collection(collection=collection, actor=user)))


class CollectionReportView(APIView):
    @extend_schema(tags=TAG, operation_id="collections_report", responses=CollectionReportSerializer)
    def get(self, request: Request, slug: str, pk: UUID) -> Response:
        """What raters think of the systems so far, like `manage.py collection_report --json`."""
        collection = _collection(person(request), slug, pk, Capability.READ_STATISTICS)
        return Response(serialize_report(collection_report(collection)))


class CollectionTableView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="collections_report_csv",
        responses={(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR)},
    )
    def get(self, request: Request, slug: str, pk: UUID) -> HttpResponse:
        """The scores as CSV, one line for each system and criterion. An empty system is the human reply."""
        collection = _collection(person(request), slug, pk, Capability.READ_STATISTICS)
        response = HttpResponse(content_type="text/csv; charset=utf-8")
        writer = csv.DictWriter(response, CSV_HEAD)
        writer.writeheader()
        for row in report_rows(collection_report(collection)):
            writer.writerow({column: escape_formula(cell) for column, cell in row.items()})
        return response


def _collection(user: User, slug: str, pk: UUID, capability: Capability) -> Collection:
    return collection_in(assessment_project(user, slug, capability), pk)


def _plan(user: User, project: Project, sent: dict[str, Any]) -> CollectionPlan:
    """Raises NotFound for what the user cannot see, NotAllowed."""
    run, source = sent.pop("run"), sent.pop("source")
    return CollectionPlan(
        target=project_for(user, sent.pop("target"), Capability.CONFIGURE),
        systems=systems_by_name(project, sent.pop("systems")),
        source=project_for(user, source, Capability.READ_DIALOGUES) if source else None,
        run=run_in(project, run) if run is not None else None,
        **sent,
    )


def _describe(collection: Collection) -> dict[str, Any]:
    return serialize_collection(collection, progress_of([collection])[collection.pk])


urlpatterns = [
    path("projects/<slug:slug>/collections/", CollectionsView.as_view()),
    path("projects/<slug:slug>/collections/<uuid:pk>/", CollectionView.as_view()),
    path("projects/<slug:slug>/collections/<uuid:pk>/cancel/", CancelCollectionView.as_view()),
    path("projects/<slug:slug>/collections/<uuid:pk>/retry/", RetryCollectionView.as_view()),
    path("projects/<slug:slug>/collections/<uuid:pk>/report/", CollectionReportView.as_view()),
    path("projects/<slug:slug>/collections/<uuid:pk>/report.csv", CollectionTableView.as_view()),
]
