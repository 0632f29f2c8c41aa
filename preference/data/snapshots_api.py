"""REST API of snapshots. Every view is one call of a service."""

from typing import Any
from uuid import UUID

from django.http import FileResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.serializers import StrictSerializer, validated_input
from dialogues.models import Split
from jobs.models import Job, JobState
from preference.data.exports_api import GONE, FiltersSerializer, number_field, splits_field, unreviewed_field
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.exports import JSON_LINES, content_type_of
from preference.data.selectors.shortages import shortages_of
from preference.data.selectors.snapshots import snapshot_file, snapshot_for, snapshots_of
from preference.data.services.snapshots import NAME_CHARS, push_snapshot, remove_snapshot_files, take_snapshot
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Snapshots"]


class SnapshotInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first snapshot.")
    name = serializers.CharField(
        max_length=NAME_CHARS,
        required=False,
        default="",
        allow_blank=True,
        help_text="Empty: project and time.",
    )
    splits = splits_field()
    include_unreviewed = unreviewed_field()
    seed = number_field("Kept with it, for what is drawn from it.")


class CardColumnSerializer(serializers.Serializer[Any]):
    """A column of Table 1 of the paper; shares of the actions are of `had_candidates`."""

    split = serializers.ChoiceField(choices=[*Split.values, "total"])
    dialogues = serializers.IntegerField()
    utterances = serializers.IntegerField()
    mean_length = serializers.FloatField(allow_null=True, help_text="Characters an utterance.")
    select = serializers.IntegerField()
    revise = serializers.IntegerField()
    rewrite = serializers.IntegerField()
    had_candidates = serializers.IntegerField(help_text="Utterances with candidates and an action.")
    replies = serializers.IntegerField(help_text="Turns where a candidate differs from what was sent.")


class CandidatesSerializer(serializers.Serializer[Any]):
    turns = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    by_number = serializers.DictField(
        child=serializers.IntegerField(), help_text="Turns by number of candidates."
    )


class CardSerializer(serializers.Serializer[Any]):
    """What is in a snapshot; counts by name hold the most frequent names, the empty one for what is not stated."""

    splits = CardColumnSerializer(many=True)
    candidates = CandidatesSerializer()
    model_versions = serializers.DictField(child=serializers.IntegerField(), help_text="Turns.")
    languages = serializers.DictField(child=serializers.IntegerField(), help_text="Dialogues.")
    domains = serializers.DictField(child=serializers.IntegerField(), help_text="Dialogues.")
    licences = serializers.DictField(
        child=serializers.IntegerField(), help_text="Dialogues, as imports name it."
    )
    gaps = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Dialogues: unreviewed, imported, scripted, without_candidates; turns: no_action, empty_candidates, "
        "repeated_candidates.",
    )
    longest = serializers.IntegerField(help_text="Utterances of the longest dialogue.")


class PushedSerializer(serializers.Serializer[Any]):
    repo_id = serializers.CharField()
    url = serializers.CharField()
    commit = serializers.CharField()
    private = serializers.BooleanField()
    at = serializers.DateTimeField()


class SnapshotSerializer(serializers.ModelSerializer[Snapshot]):
    project = serializers.CharField(source="project.slug")
    filters = FiltersSerializer
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    done = serializers.IntegerField(source="job.done", help_text="Dialogues.")
    total = serializers.IntegerField(source="job.total", allow_null=True, help_text="Dialogues.")
    error = serializers.CharField(source="job.error", help_text="Why it failed; empty otherwise.")
    remedy = serializers.CharField(source="job.remedy")
    taken_by = serializers.CharField(source="job.created_by.username", allow_null=True, default=None)
    has_files = serializers.SerializerMethodField(help_text="Whether `files/` has them.")
    pushed = PushedSerializer(many=True)

    class Meta:
        model = Snapshot
        fields = [
            "id", "project", "name", "filters", "seed", "schema_version", "state", "done", "total", "error", "remedy",
            "taken_by", "created_at", "bytes", "sha256", "has_files", "pushed",
        ]  # fmt: skip

    def get_has_files(self, snapshot: Snapshot) -> bool:
        return bool(snapshot.path)


class SnapshotFull(SnapshotSerializer):
    card = serializers.SerializerMethodField(help_text="Null until it is done.")
    warnings = serializers.SerializerMethodField(help_text="What it lacks for training.")

    class Meta(SnapshotSerializer.Meta):
        fields = [*SnapshotSerializer.Meta.fields, "card", "warnings"]

    @extend_schema_field(CardSerializer(allow_null=True))
    def get_card(self, snapshot: Snapshot) -> dict[str, Any] | None:
        return dict(CardSerializer(snapshot.card).data) if snapshot.card else None

    def get_warnings(self, snapshot: Snapshot) -> list[str]:
        return [one.text() for one in shortages_of(snapshot.card)]


class PushInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first job.")
    repo_id = serializers.CharField(max_length=200, help_text="owner/name, as the Hub calls it.")
    private = serializers.BooleanField(default=True, help_text="Of a repository that is made.")


class PushJobSerializer(serializers.ModelSerializer[Job]):
    class Meta:
        model = Job
        fields = ["id", "state", "error", "remedy", "created_at"]


class SnapshotsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="snapshots_list", responses=SnapshotSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's snapshots, newest first."""
        project = project_for(person(request), slug, Capability.EXPORT)
        return paginated_response(self, request, snapshots_of(project), SnapshotSerializer)

    @extend_schema(
        tags=TAG, operation_id="snapshots_take", request=SnapshotInput, responses={202: SnapshotFull}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Freeze dialogues; follow its `state`. Stop it, or start it again, as the job of its id.

        Codes: nothing_to_take, wrong_protocol, id_in_use.
        """
        project = project_for(person(request), slug, Capability.EXPORT)
        sent = validated_input(SnapshotInput, request)
        made = take_snapshot(snapshot_id=sent.pop("id"), project=project, actor=person(request), **sent)
        return Response(SnapshotFull(made).data, status=status.HTTP_202_ACCEPTED)


class SnapshotView(APIView):
    @extend_schema(tags=TAG, operation_id="snapshots_read", responses=SnapshotFull)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, and the card once it is done."""
        return Response(SnapshotFull(snapshot_for(person(request), pk)).data)


class SnapshotFilesView(APIView):
    @extend_schema(tags=TAG, operation_id="snapshots_remove_files", responses={200: SnapshotFull})
    def delete(self, request: Request, pk: UUID) -> Response:
        """Remove its files to free their space; the card stays. Codes: not_ready while it is written, in_use."""
        snapshot = remove_snapshot_files(snapshot=snapshot_for(person(request), pk), actor=person(request))
        return Response(SnapshotFull(snapshot).data)


class SnapshotFileView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="snapshots_file",
        responses={
            (200, JSON_LINES): OpenApiTypes.BINARY,
            (200, "application/json"): OpenApiTypes.BINARY,
            (200, "text/markdown"): OpenApiTypes.BINARY,
            **GONE,
        },
    )
    def get(self, request: Request, pk: UUID, name: str) -> FileResponse:
        """One of its files: dialogues.jsonl, snapshot.json, README.md. Codes: not_ready (409), file_gone (410)."""
        path = snapshot_file(snapshot_for(person(request), pk), name)
        kind = content_type_of(path.name)
        return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type=kind)


class SnapshotPushView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="snapshots_push",
        request=PushInput,
        responses={202: PushJobSerializer, **GONE},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Push it to a Hub with the worker's HF_TOKEN; follow the job. Codes: not_ready, file_gone, id_in_use."""
        snapshot, sent = snapshot_for(person(request), pk), validated_input(PushInput, request)
        job = push_snapshot(push_id=sent.pop("id"), snapshot=snapshot, actor=person(request), **sent)
        return Response(PushJobSerializer(job).data, status=status.HTTP_202_ACCEPTED)


urlpatterns = [
    path("projects/<slug:slug>/snapshots/", SnapshotsView.as_view()),
    path("snapshots/<uuid:pk>/", SnapshotView.as_view()),
    path("snapshots/<uuid:pk>/files/", SnapshotFilesView.as_view()),
    path("snapshots/<uuid:pk>/files/<str:name>/", SnapshotFileView.as_view()),
    path("snapshots/<uuid:pk>/push/", SnapshotPushView.as_view()),
]
