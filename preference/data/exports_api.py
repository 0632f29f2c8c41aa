"""REST API of exports. Every view is one call of a service."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.problems import CONTENT_TYPE, ProblemSerializer
from common.rest.resumed_files import RANGE, SIGNED, is_resumed, resumable_file
from common.rest.serializers import validated_input
from preference.data.selectors.exports import (
    JSON_LINES,
    PARQUET,
    content_type_of,
    export_for,
    exports_of,
    file_of,
)
from preference.data.selectors.snapshots import snapshot_for
from preference.data.selectors.sources import preview_source
from preference.data.serializers.exports import ExportInput, ExportSerializer, PreviewQuery, PreviewSerializer
from preference.data.services.downloads import record_download
from preference.data.services.exports import build_filters, remove_file, start_export
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Exports"]


GONE: Mapping[Any, Any] = {(status, CONTENT_TYPE): ProblemSerializer for status in (409, 410, 416, 503)}


class ExportsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="exports_list", responses=ExportSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's exports, newest first."""
        project = project_for(person(request), slug, Capability.EXPORT)
        return paginated_response(self, request, exports_of(project), ExportSerializer)

    @extend_schema(
        tags=TAG, operation_id="exports_start", request=ExportInput, responses={202: ExportSerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start an export; poll its `state`, then fetch `file/`. Cancel or retry it as the job with its id.

        Code: id_in_use.
        """
        project = project_for(person(request), slug, Capability.EXPORT)
        values = validated_input(ExportInput, request)
        if values["snapshot"]:
            values["snapshot"] = snapshot_for(person(request), values["snapshot"])
        export = start_export(export_id=values.pop("id"), project=project, actor=person(request), **values)
        return Response(ExportSerializer(export).data, status=status.HTTP_202_ACCEPTED)


class PreviewView(APIView):
    @extend_schema(
        tags=TAG, operation_id="exports_preview", parameters=[PreviewQuery], responses=PreviewSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """What an export with these filters would take."""
        project = project_for(person(request), slug, Capability.EXPORT)
        query = PreviewQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        values = query.validated_data
        filters = build_filters(
            values.get("splits", []),
            values["include_unreviewed"],
            values["include_withheld"],
            run=values["run"],
            least_score=values["least_score"],
        )
        return Response(PreviewSerializer(preview_source(project, filters, values["format"])).data)


class ExportView(APIView):
    @extend_schema(tags=TAG, operation_id="exports_read", responses=ExportSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, and the manifest when it is done."""
        return Response(ExportSerializer(export_for(person(request), pk)).data)


class ExportFileView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="exports_file",
        parameters=[RANGE],
        responses={(code, kind): OpenApiTypes.BINARY for code in (200, 206) for kind in (JSON_LINES, PARQUET)}
        | {302: SIGNED}
        | dict(GONE),
    )
    def get(self, request: Request, pk: UUID) -> HttpResponseBase:
        """The file, JSON Lines or Parquet.

        Codes: not_ready (409), file_gone (410), wrong_range (416), storage_away (503).
        """
        export = export_for(person(request), pk)
        path = file_of(export)
        kind, sha256 = content_type_of(path.name), str(export.manifest.get("sha256", ""))
        response = resumable_file(request, path, content_type=kind, sha256=sha256)
        if not is_resumed(response):
            record_download(person=person(request), project=export.project, row=export, name=path.name)
        return response

    @extend_schema(tags=TAG, operation_id="exports_remove_file", responses={200: ExportSerializer})
    def delete(self, request: Request, pk: UUID) -> Response:
        """Remove the file to free its space; the manifest stays. Code: not_ready while it is written."""
        export = remove_file(export=export_for(person(request), pk), actor=person(request))
        return Response(ExportSerializer(export).data)


urlpatterns = [
    path("projects/<slug:slug>/exports/", ExportsView.as_view()),
    path("projects/<slug:slug>/exports/preview/", PreviewView.as_view()),
    path("exports/<uuid:pk>/", ExportView.as_view()),
    path("exports/<uuid:pk>/file/", ExportFileView.as_view()),
]
