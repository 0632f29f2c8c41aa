"""REST API of trainings. Every view is one call of a service; a training is stopped as the job of its id."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.http import FileResponse
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
from common.rest.serializers import validated_input, validated_query
from preference.data.selectors.snapshots import snapshot_for
from preference.registry.selectors.bases import selectable_bases
from preference.runs.memory import memory_of_training
from preference.runs.selectors import curve_of, log_of, run_for, runs_of
from preference.runs.serializers import (
    BasesQuery,
    BasesSerializer,
    CurveQuery,
    CurveSerializer,
    MemoryInput,
    MemorySerializer,
    TrainingInput,
    TrainingSerializer,
)
from preference.runs.services.trainings import remove_run_files, resume_training, start_training
from preference.runs.trainers import TRAINERS
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Training"]


TEXT = "text/plain"


GONE: dict[Any, Any] = {(410, CONTENT_TYPE): ProblemSerializer}


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
        """Start a training; poll its `state` and `curve/`. Cancel it as the job with its id; resume with `resume/`.

        Codes: invalid (recipe, changes, snapshot, question, models, is_lora, processes), not_found (model),
        no_authoring, no_labelling, no_base, wrong_kind, not_ready, file_gone (snapshot), id_in_use.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        values = validated_input(TrainingInput, request)
        snapshot = snapshot_for(user, values.pop("snapshot"))
        run = start_training(
            run_id=values.pop("id"), project=project, actor=user, snapshot=snapshot, **values
        )
        return Response(TrainingSerializer(run_for(user, run.pk)).data, status=status.HTTP_202_ACCEPTED)


class BasesView(APIView):
    @extend_schema(
        tags=TAG, operation_id="trainings_bases", parameters=[BasesQuery], responses=BasesSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """The models that a training may start from."""
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        kinds = TRAINERS[validated_query(BasesQuery, request)["kind"]].bases
        bases = [
            {"name": base.name, "is_trained": base.parent is not None}
            for base in selectable_bases(user, project, kinds)
        ]
        return Response({"bases": bases})


class MemoryView(APIView):
    @extend_schema(tags=TAG, operation_id="trainings_memory", request=MemoryInput, responses=MemorySerializer)
    def post(self, request: Request, slug: str) -> Response:
        """How much memory a joint training would take at its peak, from the model's configuration alone.

        Compared with the machine that answers. Nothing is stored. Codes: invalid (recipe, changes, is_lora, processes),
        not_found (model), no_authoring, no_base, wrong_kind, not_plannable, file_gone.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        found = memory_of_training(project=project, actor=user, **validated_input(MemoryInput, request))
        return Response(MemorySerializer(found).data)


class TrainingView(APIView):
    @extend_schema(tags=TAG, operation_id="trainings_read", responses=TrainingSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, newest losses, and the model when it is done."""
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
        """The end of the trainer's log. Codes: file_gone, files_gone."""
        run = run_for(person(request), pk)
        name = f"{run.project.slug}-{run.number}.log"
        return FileResponse(log_of(run), as_attachment=True, filename=name, content_type=TEXT)


class ResumeView(APIView):
    @extend_schema(
        tags=TAG, operation_id="trainings_resume", request=None, responses={200: TrainingSerializer, **GONE}
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Resume from the last checkpoint. Codes: already_done, files_gone. Safe to repeat."""
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
    path("projects/<slug:slug>/training-runs/memory/", MemoryView.as_view()),
    path("training-runs/<uuid:pk>/", TrainingView.as_view()),
    path("training-runs/<uuid:pk>/curve/", CurveView.as_view()),
    path("training-runs/<uuid:pk>/log/", LogView.as_view()),
    path("training-runs/<uuid:pk>/resume/", ResumeView.as_view()),
    path("training-runs/<uuid:pk>/files/", FilesView.as_view()),
]
