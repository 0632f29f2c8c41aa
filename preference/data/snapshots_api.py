"""REST API of snapshots. Every view is one call of a service."""

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
from common.rest.resumed_files import RANGE, SIGNED, is_resumed, resumable_file
from common.rest.serializers import validated_input
from preference.data.exports_api import GONE
from preference.data.selectors.exports import JSON_LINES, content_type_of
from preference.data.selectors.frozen_dialogues import DIALOGUES
from preference.data.selectors.snapshots import snapshot_file, snapshot_for, snapshots_of
from preference.data.serializers.snapshots import (
    PushInput,
    PushJobSerializer,
    SnapshotDetailSerializer,
    SnapshotInput,
    SnapshotSerializer,
)
from preference.data.services.downloads import record_download
from preference.data.services.snapshots import push_snapshot, remove_snapshot_files, take_snapshot
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Snapshots"]
KINDS = (JSON_LINES, "application/json", "text/markdown")


class SnapshotsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="snapshots_list", responses=SnapshotSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's snapshots, newest first."""
        project = project_for(person(request), slug, Capability.EXPORT)
        return paginated_response(self, request, snapshots_of(project), SnapshotSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="snapshots_take",
        request=SnapshotInput,
        responses={202: SnapshotDetailSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Freeze dialogues in a snapshot; poll its `state`. Cancel or retry it as the job with its id.

        Codes: nothing_to_take, wrong_protocol, id_in_use.
        """
        project = project_for(person(request), slug, Capability.EXPORT)
        values = validated_input(SnapshotInput, request)
        snapshot = take_snapshot(
            snapshot_id=values.pop("id"), project=project, actor=person(request), **values
        )
        return Response(SnapshotDetailSerializer(snapshot).data, status=status.HTTP_202_ACCEPTED)


class SnapshotView(APIView):
    @extend_schema(tags=TAG, operation_id="snapshots_read", responses=SnapshotDetailSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, and the card when it is done."""
        return Response(SnapshotDetailSerializer(snapshot_for(person(request), pk)).data)


class SnapshotFilesView(APIView):
    @extend_schema(tags=TAG, operation_id="snapshots_remove_files", responses={200: SnapshotDetailSerializer})
    def delete(self, request: Request, pk: UUID) -> Response:
        """Remove the files of a snapshot; its card stays. Codes: not_ready while it is written, in_use."""
        snapshot = remove_snapshot_files(snapshot=snapshot_for(person(request), pk), actor=person(request))
        return Response(SnapshotDetailSerializer(snapshot).data)


class SnapshotFileView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="snapshots_file",
        parameters=[RANGE],
        responses={(code, kind): OpenApiTypes.BINARY for code in (200, 206) for kind in KINDS}
        | {302: SIGNED}
        | dict(GONE),
    )
    def get(self, request: Request, pk: UUID, name: str) -> HttpResponseBase:
        """One of its files: dialogues.jsonl, snapshot.json, README.md.

        Codes: not_ready (409), file_gone (410), wrong_range (416), storage_away (503).
        """
        snapshot = snapshot_for(person(request), pk)
        path = snapshot_file(snapshot, name)
        sha256 = snapshot.sha256 if path.name == DIALOGUES else ""
        kind = content_type_of(path.name)
        response = resumable_file(request, path, content_type=kind, sha256=sha256)
        if not is_resumed(response):
            record_download(person=person(request), project=snapshot.project, row=snapshot, name=path.name)
        return response


class SnapshotPushView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="snapshots_push",
        request=PushInput,
        responses={202: PushJobSerializer, **GONE},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Push a snapshot to a Hub with the project's token; poll the job.

        Codes: no_token, not_ready, file_gone, id_in_use.
        """
        snapshot = snapshot_for(person(request), pk)
        project_for(person(request), snapshot.project.slug, Capability.PUBLISH)
        values = validated_input(PushInput, request)
        job = push_snapshot(push_id=values.pop("id"), snapshot=snapshot, actor=person(request), **values)
        return Response(PushJobSerializer(job).data, status=status.HTTP_202_ACCEPTED)


urlpatterns = [
    path("projects/<slug:slug>/snapshots/", SnapshotsView.as_view()),
    path("snapshots/<uuid:pk>/", SnapshotView.as_view()),
    path("snapshots/<uuid:pk>/files/", SnapshotFilesView.as_view()),
    path("snapshots/<uuid:pk>/files/<str:name>/", SnapshotFileView.as_view()),
    path("snapshots/<uuid:pk>/push/", SnapshotPushView.as_view()),
]
