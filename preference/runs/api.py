"""REST API of trainings. Every view is one call of a service; a training is stopped as the job of its id."""

from dataclasses import asdict
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

from accounts.rest.person import person
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.problems import CONTENT_TYPE, ProblemSerializer
from common.rest.serializers import StrictSerializer, validated_input, validated_query
from jobs.models import JobState
from preference.data.selectors.snapshots import snapshot_for
from preference.registry.models import TrainingRun
from preference.registry.selectors.bases import bases_for
from preference.runs.selectors import MOST_POINTS, curve_of, log_of, run_for, runs_of
from preference.runs.services import remove_run_files, resume_training, start_training
from preference.training.joint.recipe import RECIPES
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Training"]
TEXT = "text/plain"
GONE: dict[Any, Any] = {(410, CONTENT_TYPE): ProblemSerializer}
LARGEST_SEED = 2**31 - 1


class TrainingInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first training.")
    snapshot = serializers.UUIDField(help_text="A finished snapshot of the project.")
    model = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text="To begin from: a trained model's name, or one of `bases`. Empty: the project's own. Administrators "
        "may name any folder or hub id.",
    )
    recipe = serializers.ChoiceField(choices=sorted(RECIPES), default="diamante")
    changes = serializers.DictField(
        child=serializers.JSONField(allow_null=True),
        required=False,
        help_text='Settings that differ from the recipe\'s, for example {"batch": 32}; the refusal of a wrong one '
        "names those that there are.",
    )
    is_lora = serializers.BooleanField(default=False, help_text="Train adapters and the head only.")
    seed = serializers.IntegerField(default=1, min_value=0, max_value=LARGEST_SEED)


class LatestSerializer(serializers.Serializer[Any]):
    """The newest step; empty before the first."""

    step = serializers.IntegerField(required=False)
    steps = serializers.IntegerField(required=False, help_text="In the end.")
    epoch = serializers.IntegerField(required=False)
    loss = serializers.FloatField(required=False, help_text="nll + ranking, in nats.")
    nll = serializers.FloatField(required=False)
    ranking = serializers.FloatField(required=False)
    lr = serializers.FloatField(required=False)
    seconds = serializers.FloatField(required=False, help_text="Since it began.")
    eta_seconds = serializers.FloatField(required=False, help_text="Left.")


class TrainingSerializer(serializers.ModelSerializer[TrainingRun]):
    project = serializers.CharField(source="project.slug")
    snapshot = serializers.UUIDField(source="snapshot_id")
    parent = serializers.CharField(  # type: ignore[assignment]
        source="parent.slug", default=None, allow_null=True
    )
    changes = serializers.DictField(child=serializers.JSONField(allow_null=True))
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    done = serializers.IntegerField(source="job.done", help_text="Steps.")
    total = serializers.IntegerField(source="job.total", allow_null=True, help_text="Steps.")
    error = serializers.CharField(source="job.error", help_text="Why it failed; empty otherwise.")
    remedy = serializers.CharField(source="job.remedy")
    latest = LatestSerializer()
    model = serializers.CharField(source="model.slug", default=None, allow_null=True)
    has_files = serializers.BooleanField(source="folder", help_text="Whether curve and log are there.")
    started_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    ended_at = serializers.DateTimeField(source="job.ended_at", allow_null=True)

    class Meta:
        model = TrainingRun
        fields = [
            "id", "project", "number", "snapshot", "parent", "base", "recipe", "changes", "is_lora", "seed", "state",
            "done", "total", "error", "remedy", "layout", "message", "latest", "model", "has_files", "started_by",
            "created_at", "ended_at",
        ]  # fmt: skip


class CurveQuery(serializers.Serializer[Any]):
    after = serializers.IntegerField(
        required=False, min_value=0, max_value=2**31, help_text="Only later steps."
    )


class PointSerializer(serializers.Serializer[Any]):
    """Means over the steps `first` to `step`."""

    first = serializers.IntegerField()
    step = serializers.IntegerField()
    epoch = serializers.IntegerField()
    loss = serializers.FloatField()
    nll = serializers.FloatField()
    ranking = serializers.FloatField()
    lr = serializers.FloatField()
    seconds = serializers.FloatField()


class CurveSerializer(serializers.Serializer[Any]):
    points = PointSerializer(many=True, help_text=f"At most {MOST_POINTS}.")
    steps = serializers.IntegerField(help_text="In the end; 0 while that is not known.")
    eta_seconds = serializers.FloatField(allow_null=True)


class BaseSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="What `model` of a new training takes.")
    is_trained = serializers.BooleanField(help_text="A registered model of ours.")


class BasesSerializer(serializers.Serializer[Any]):
    bases = BaseSerializer(many=True, help_text="The project's own model first, where it is a local one.")


class TrainingsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="trainings_list", responses=TrainingSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's trainings, newest first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return paginated_response(self, request, runs_of(project), TrainingSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="trainings_start",
        request=TrainingInput,
        responses={202: TrainingSerializer, **GONE},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start a training; follow its `state` and `curve/`. Stop it as the job of its id, go on with `resume/`.

        Codes: invalid (recipe, changes, snapshot), not_found (model), no_authoring, no_base, not_ready, file_gone
        (snapshot), id_in_use.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        sent = validated_input(TrainingInput, request)
        snapshot = snapshot_for(user, sent.pop("snapshot"))
        run = start_training(run_id=sent.pop("id"), project=project, actor=user, snapshot=snapshot, **sent)
        return Response(TrainingSerializer(run_for(user, run.pk)).data, status=status.HTTP_202_ACCEPTED)


class BasesView(APIView):
    @extend_schema(tags=TAG, operation_id="trainings_bases", responses=BasesSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """What a training may begin from."""
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        bases = [
            {"name": base.name, "is_trained": base.parent is not None} for base in bases_for(user, project)
        ]
        return Response({"bases": bases})


class TrainingView(APIView):
    @extend_schema(tags=TAG, operation_id="trainings_read", responses=TrainingSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, newest losses, and the model once it is done."""
        return Response(TrainingSerializer(run_for(person(request), pk)).data)


class CurveView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="trainings_curve",
        parameters=[CurveQuery],
        responses={200: CurveSerializer, **GONE},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """The loss by step. Code: files_gone."""
        query = validated_query(CurveQuery, request)
        return Response(CurveSerializer(asdict(curve_of(run_for(person(request), pk), **query))).data)


class LogView(APIView):
    @extend_schema(
        tags=TAG, operation_id="trainings_log", responses={(200, TEXT): OpenApiTypes.BINARY, **GONE}
    )
    def get(self, request: Request, pk: UUID) -> FileResponse:
        """The end of what the trainer wrote. Codes: file_gone, files_gone."""
        run = run_for(person(request), pk)
        name = f"{run.project.slug}-{run.number}.log"
        return FileResponse(log_of(run).open("rb"), as_attachment=True, filename=name, content_type=TEXT)


class ResumeView(APIView):
    @extend_schema(
        tags=TAG, operation_id="trainings_resume", request=None, responses={200: TrainingSerializer, **GONE}
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Go on from the last checkpoint. Codes: already_done, files_gone. Safe to repeat."""
        run = resume_training(run=run_for(person(request), pk), actor=person(request))
        return Response(TrainingSerializer(run_for(person(request), run.pk)).data)


class FilesView(APIView):
    @extend_schema(tags=TAG, operation_id="trainings_remove_files", responses={200: TrainingSerializer})
    def delete(self, request: Request, pk: UUID) -> Response:
        """Remove checkpoints, curve and log of a training without a model. Codes: not_ready, in_use."""
        run = remove_run_files(run=run_for(person(request), pk), actor=person(request))
        return Response(TrainingSerializer(run_for(person(request), run.pk)).data)


urlpatterns = [
    path("projects/<slug:slug>/training-runs/", TrainingsView.as_view()),
    path("projects/<slug:slug>/training-runs/bases/", BasesView.as_view()),
    path("training-runs/<uuid:pk>/", TrainingView.as_view()),
    path("training-runs/<uuid:pk>/curve/", CurveView.as_view()),
    path("training-runs/<uuid:pk>/log/", LogView.as_view()),
    path("training-runs/<uuid:pk>/resume/", ResumeView.as_view()),
    path("training-runs/<uuid:pk>/files/", FilesView.as_view()),
]
