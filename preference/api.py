"""REST API of exports."""

from typing import Any
from uuid import UUID

from django.http import FileResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.pagination import CursorPagination
from accounts.rest.person import person
from dialogues.models import Split
from jobs.models import JobState
from preference.exports import FORMATS
from preference.models import Export
from preference.selectors import export_for, exports_of, file_of
from preference.services import start_export
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Exports"]


class ExportInput(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first export.")
    format = serializers.ChoiceField(choices=sorted(FORMATS))
    splits = serializers.ListField(child=serializers.ChoiceField(choices=Split.values), required=False)
    include_unreviewed = serializers.BooleanField(required=False, default=False)


class ExportSerializer(serializers.ModelSerializer[Export]):
    project = serializers.CharField(source="project.slug")
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    rows = serializers.IntegerField(source="job.done")
    error = serializers.CharField(source="job.error")
    manifest = serializers.JSONField()

    class Meta:
        model = Export
        fields = ["id", "project", "format", "filters", "state", "rows", "bytes", "error", "manifest", "created_at"]


class ExportsView(APIView):
    @extend_schema(tags=TAG, operation_id="exports_list", responses=ExportSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        project = project_for(person(request), slug, Capability.EXPORT)
        pages = CursorPagination()
        rows = pages.paginate_queryset(exports_of(project), request, view=self)
        return pages.get_paginated_response(ExportSerializer(rows, many=True).data)

    @extend_schema(tags=TAG, operation_id="exports_start", request=ExportInput, responses={202: ExportSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Start an export; follow `state`, then fetch `file/`."""
        project = project_for(person(request), slug, Capability.EXPORT)
        sent = ExportInput(data=request.data)
        sent.is_valid(raise_exception=True)
        data = dict(sent.validated_data)
        made = start_export(export_id=data.pop("id"), project=project, actor=person(request), **data)
        return Response(ExportSerializer(made).data, status=status.HTTP_202_ACCEPTED)


class ExportView(APIView):
    @extend_schema(tags=TAG, operation_id="exports_read", responses=ExportSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        return Response(ExportSerializer(export_for(person(request), pk)).data)


class ExportFileView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="exports_file",
        responses={(200, "application/jsonl"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, pk: UUID) -> FileResponse:
        """The file. Codes: not_ready, file_gone."""
        path = file_of(export_for(person(request), pk))
        return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type="application/jsonl")


urlpatterns = [
    path("projects/<slug:slug>/exports/", ExportsView.as_view()),
    path("exports/<uuid:pk>/", ExportView.as_view()),
    path("exports/<uuid:pk>/file/", ExportFileView.as_view()),
]
