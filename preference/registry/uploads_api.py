"""REST API for uploading a model's folder in pieces; `models/` registers it afterwards."""

import io
from typing import Any, cast
from uuid import UUID

from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.parsers import RAW, RawParser
from common.rest.problems import CONTENT_TYPE, ProblemSerializer
from common.rest.serializers import StrictSerializer, validated_input, validated_query
from preference.registry.services.model_uploads import append, end_upload, start_upload
from preference.registry.upload_pieces import pieces_of_uploads
from preference.registry.uploads import CHUNK_BYTES, AnnouncedFile, ModelUpload, upload_for
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Trained models"]
REFUSED: dict[Any, Any] = {(code, CONTENT_TYPE): ProblemSerializer for code in (409, 410, 413, 422, 503, 507)}
GONE: dict[Any, Any] = {(410, CONTENT_TYPE): ProblemSerializer}
OFFSET = OpenApiParameter(
    "offset", OpenApiTypes.INT64, description="The first byte of the piece. Default: 0."
)


class AnnouncedFileInput(StrictSerializer):
    name = serializers.CharField(max_length=200, help_text="Relative to the folder, with slashes.")
    size = serializers.IntegerField(min_value=0, max_value=2**53 - 1, help_text="Bytes.")
    sha256 = serializers.RegexField(r"^[0-9a-f]{64}$", help_text="Of the content.")


class UploadInput(StrictSerializer):
    id = serializers.UUIDField(
        help_text="Made by the client; a second send returns the upload as far as it is."
    )
    name = serializers.CharField(max_length=100, help_text="Of the folder; the model is named after it.")
    files = AnnouncedFileInput(many=True)


class OffsetQuery(serializers.Serializer[Any]):
    offset = serializers.IntegerField(required=False, min_value=0, max_value=2**53 - 1)


class UploadSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    received = serializers.DictField(child=serializers.IntegerField(), help_text="Bytes by name of the file.")
    sizes = serializers.DictField(child=serializers.IntegerField(), help_text="Announced bytes by name.")
    complete = serializers.ListField(child=serializers.CharField(), help_text="The files that are whole.")
    is_complete = serializers.BooleanField(help_text="All files are.")
    chunk_bytes = serializers.IntegerField(help_text="The most that one request may carry.")


def serialize_upload(upload: ModelUpload) -> dict[str, Any]:
    sizes = {name: file.size for name, file in upload.files.items()}
    arrivals = pieces_of_uploads().arrivals(upload)
    received = {name: arrival.received for name, arrival in arrivals.items()}
    about = {"id": upload.id, "name": upload.name, "received": received, "sizes": sizes}
    complete = [name for name, arrival in arrivals.items() if arrival.is_whole]
    facts = {
        "complete": complete,
        "is_complete": len(complete) == len(sizes),
        "chunk_bytes": CHUNK_BYTES,
    }
    return dict(UploadSerializer({**about, **facts}).data)


class ModelUploadsView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="model_uploads_start",
        request=UploadInput,
        responses={201: UploadSerializer, **REFUSED},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Announce the files of a model that was trained elsewhere; send them piece by piece, then register it.

        An upload that nothing arrives for is deleted after two weeks. Codes: invalid (name, files), no_authoring,
        too_large, too_many_uploads, disk_full, id_in_use.
        """
        project = project_for(person(request), slug, Capability.TRAIN)
        sent = validated_input(UploadInput, request)
        names = [file["name"] for file in sent["files"]]
        if len(set(names)) < len(names):
            raise serializers.ValidationError({"files": [_("Two files have the same name.")]})
        files = {file["name"]: AnnouncedFile(file["size"], file["sha256"]) for file in sent["files"]}
        upload = start_upload(upload_id=sent["id"], project=project, name=sent["name"], files=files)
        return Response(serialize_upload(upload), status=status.HTTP_201_CREATED)


class ModelUploadView(APIView):
    @extend_schema(tags=TAG, operation_id="model_uploads_read", responses={200: UploadSerializer, **GONE})
    def get(self, request: Request, slug: str, pk: UUID) -> Response:
        """How far an upload is. Code: upload_gone (410) after it was registered or cancelled."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return Response(serialize_upload(upload_for(project, pk)))

    @extend_schema(tags=TAG, operation_id="model_uploads_cancel", responses={204: None})
    def delete(self, request: Request, slug: str, pk: UUID) -> Response:
        """Delete what has arrived. Safe to repeat."""
        project = project_for(person(request), slug, Capability.TRAIN)
        end_upload(project=project, upload_id=pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ModelUploadFileView(APIView):
    parser_classes = (RawParser,)

    @extend_schema(
        tags=TAG,
        operation_id="model_uploads_send",
        parameters=[OFFSET],
        request={RAW: OpenApiTypes.BINARY},
        responses={200: UploadSerializer, **REFUSED},
    )
    def put(self, request: Request, slug: str, pk: UUID, name: str) -> Response:
        """Send the piece of a file that begins at `offset`. After a lost connection, ask for `received` and go on.

        Codes: wrong_offset (with `received`), upload_gone (410), busy, too_large, wrong_hash (422; the file begins
        again; with an object store, the registration says so), disk_full, storage_away (503), storage_full.
        """
        project = project_for(person(request), slug, Capability.TRAIN)
        upload = upload_for(project, pk)
        offset = validated_query(OffsetQuery, request).get("offset", 0)
        body = cast(dict[str, Any], request.data)  # an empty QueryDict if there is no body
        append(upload=upload, name=name, offset=offset, source=body.get("file", io.BytesIO()))
        return Response(serialize_upload(upload))


urlpatterns = [
    path("projects/<slug:slug>/model-uploads/", ModelUploadsView.as_view()),
    path("projects/<slug:slug>/model-uploads/<uuid:pk>/", ModelUploadView.as_view()),
    path("projects/<slug:slug>/model-uploads/<uuid:pk>/files/<path:name>/", ModelUploadFileView.as_view()),
]
