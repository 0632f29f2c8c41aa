"""REST API of scoring runs and meta-evaluations. Every view is one call of a service.

Both are cancelled and retried as the jobs of their ids.
"""

import json
from dataclasses import asdict
from uuid import UUID

from django.http import StreamingHttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.tasks.selectors.queue import queue_order
from common.rest.pagination import CursorPagination, NewestByTime, paginated_response
from common.rest.serializers import validated_input, validated_query
from preference.data.selectors.exports import JSON_LINES
from preference.data.services.downloads import record_download
from preference.evaluators.selectors.assessments import preview_queue
from preference.evaluators.selectors.meta_evaluations import meta_evaluation_for, meta_evaluations_of
from preference.evaluators.selectors.scoring import (
    UNSCORED,
    exported_scores,
    scores_of,
    scoring_run_for,
    scoring_runs_of,
)
from preference.evaluators.serializers import (
    ChangedTasksSerializer,
    MachineBatchSerializer,
    MachineLabelsInput,
    MetaEvaluationInput,
    MetaEvaluationSerializer,
    QueueOrderSerializer,
    RequestIdInput,
    ScoreSerializer,
    ScoresQuery,
    ScoringInput,
    ScoringRunDetailSerializer,
    ScoringRunSerializer,
)
from preference.evaluators.services.assessments import (
    LabelChoice,
    check_has_assessments,
    label_by_machine,
    order_queue_by_uncertainty,
    undo_queue_order,
)
from preference.evaluators.services.meta_evaluations import start_meta_evaluation
from preference.evaluators.services.scoring import start_scoring
from preference.registry.api import GONE
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Evaluators"]


class ScoringRunsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="scoring_runs_list", responses=ScoringRunSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's scoring runs, newest first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return paginated_response(self, request, scoring_runs_of(project), ScoringRunSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="scoring_runs_start",
        request=ScoringInput,
        responses={202: ScoringRunDetailSerializer, **GONE},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Score the project's replies with an evaluator; poll its `state`. Cancel or retry it as the job with its id.

        Codes: invalid (evaluator, target, model, settings), not_found (model), not_allowed (key of a server),
        wrong_kind (model), nothing_to_score, files_gone, id_in_use.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        values = validated_input(ScoringInput, request)
        run = start_scoring(run_id=values.pop("id"), project=project, actor=user, **values)
        body = ScoringRunDetailSerializer(scoring_run_for(user, run.pk)).data
        return Response(body, status=status.HTTP_202_ACCEPTED)


class ScoringRunView(APIView):
    @extend_schema(tags=TAG, operation_id="scoring_runs_read", responses=ScoringRunDetailSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, summary, and how many rows have no score and why."""
        return Response(ScoringRunDetailSerializer(scoring_run_for(person(request), pk)).data)


class ScoresView(APIView):
    pagination_class = CursorPagination

    @extend_schema(
        tags=TAG,
        operation_id="scoring_runs_scores",
        parameters=[ScoresQuery],
        responses=ScoreSerializer(many=True),
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """The scores, in the order of the dialogues."""
        rows = scores_of(scoring_run_for(person(request), pk))
        query = validated_query(ScoresQuery, request)
        rows = rows.filter(value=None) if query[UNSCORED] else rows
        return paginated_response(self, request, rows, ScoreSerializer)


class ScoresFileView(APIView):
    @extend_schema(
        tags=TAG, operation_id="scoring_runs_file", responses={(200, JSON_LINES): OpenApiTypes.BINARY}
    )
    def get(self, request: Request, pk: UUID) -> StreamingHttpResponse:
        """All scores as JSON Lines: dialogue, position, candidate, text, score, and what the evaluator adds."""
        run = scoring_run_for(person(request), pk)
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in exported_scores(run))
        name = f"{run.project.slug}-{run.evaluator}-{str(run.pk)[:8]}.jsonl"
        record_download(person=person(request), project=run.project, row=run, name=name)
        return StreamingHttpResponse(
            lines,
            content_type=JSON_LINES,
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


class QueueOrderView(APIView):
    @extend_schema(tags=TAG, operation_id="scoring_runs_queue_order", responses=QueueOrderSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """What ordering the queue by this run would do, and which run orders it now. Code: no_assessments."""
        run = scoring_run_for(person(request), pk)
        check_has_assessments(run)
        event = queue_order(run.project)
        body = {**asdict(preview_queue(run)), "run": event.data["source"]["run"] if event else None}
        return Response(QueueOrderSerializer(body).data)

    @extend_schema(
        tags=TAG,
        operation_id="scoring_runs_order_queue",
        request=RequestIdInput,
        responses=ChangedTasksSerializer,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Give out the open dialogues of which the assessor is least sure first. It pre-fills nothing.

        Codes: no_assessments, id_in_use.
        """
        user = person(request)
        run = scoring_run_for(user, pk)
        values = validated_input(RequestIdInput, request)
        count = order_queue_by_uncertainty(run=run, actor=user, order_id=values["id"])
        return Response(ChangedTasksSerializer({"count": count}).data)


class UndoQueueOrderView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="scoring_runs_undo_queue_order",
        request=RequestIdInput,
        responses=ChangedTasksSerializer,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Give out the dialogues of the run's project as before any order. Code: id_in_use."""
        user = person(request)
        run = scoring_run_for(user, pk)
        values = validated_input(RequestIdInput, request)
        count = undo_queue_order(run=run, actor=user, request_id=values["id"])
        return Response(ChangedTasksSerializer({"count": count}).data)


class MachineLabelsView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="scoring_runs_label_by_machine",
        request=MachineLabelsInput,
        responses={201: MachineBatchSerializer},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Seal a batch of the assessor's labels; controllers sample it and accept or return it.

        Codes: invalid (options, labels), no_assessments, no_checked_question, nothing_to_label, id_in_use.
        """
        user = person(request)
        run = scoring_run_for(user, pk)
        values = validated_input(MachineLabelsInput, request)
        batch = label_by_machine(run=run, actor=user, batch_id=values.pop("id"), choice=LabelChoice(**values))
        return Response(MachineBatchSerializer(batch).data, status=status.HTTP_201_CREATED)


class MetaEvaluationsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(
        tags=TAG, operation_id="meta_evaluations_list", responses=MetaEvaluationSerializer(many=True)
    )
    def get(self, request: Request, slug: str) -> Response:
        """The project's meta-evaluations, newest first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return paginated_response(self, request, meta_evaluations_of(project), MetaEvaluationSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="meta_evaluations_start",
        request=MetaEvaluationInput,
        responses={202: MetaEvaluationSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Compare scoring runs with what people judged; poll the `state`.

        Codes: invalid (question, runs), no_judgements, no_scores, id_in_use.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        values = validated_input(MetaEvaluationInput, request)
        row = start_meta_evaluation(evaluation_id=values.pop("id"), project=project, actor=user, **values)
        body = MetaEvaluationSerializer(meta_evaluation_for(user, row.pk)).data
        return Response(body, status=status.HTTP_202_ACCEPTED)


class MetaEvaluationView(APIView):
    @extend_schema(tags=TAG, operation_id="meta_evaluations_read", responses=MetaEvaluationSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, and the report once it is done."""
        return Response(MetaEvaluationSerializer(meta_evaluation_for(person(request), pk)).data)


urlpatterns = [
    path("projects/<slug:slug>/scoring-runs/", ScoringRunsView.as_view()),
    path("scoring-runs/<uuid:pk>/", ScoringRunView.as_view()),
    path("scoring-runs/<uuid:pk>/scores/", ScoresView.as_view()),
    path("scoring-runs/<uuid:pk>/file/", ScoresFileView.as_view()),
    path("scoring-runs/<uuid:pk>/queue-order/", QueueOrderView.as_view()),
    path("scoring-runs/<uuid:pk>/queue-order/undo/", UndoQueueOrderView.as_view()),
    path("scoring-runs/<uuid:pk>/machine-labels/", MachineLabelsView.as_view()),
    path("projects/<slug:slug>/meta-evaluations/", MetaEvaluationsView.as_view()),
    path("meta-evaluations/<uuid:pk>/", MetaEvaluationView.as_view()),
]
