"""REST API of evaluations."""

from uuid import UUID

from django.http import HttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.serializers import validated_input
from preference.data.selectors.snapshots import snapshot_for
from preference.evaluation.model_card import card_of
from preference.evaluation.selectors import comparisons_of, evaluation_for, evaluations_of
from preference.evaluation.serializers import ComparisonsSerializer, EvaluationInput, EvaluationSerializer
from preference.evaluation.services import start_evaluation
from preference.registry.api import GONE, TAG
from preference.registry.selectors.trained_models import model_for
from projects.roles import Capability
from projects.selectors import project_for

MARKDOWN = "text/markdown"


class ModelEvaluationsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="models_evaluations", responses=EvaluationSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The evaluations of one model, newest first."""
        model = model_for(person(request), slug)
        return paginated_response(self, request, evaluations_of(model.project, model), EvaluationSerializer)


class ModelCardView(APIView):
    @extend_schema(tags=TAG, operation_id="models_card", responses={(200, MARKDOWN): OpenApiTypes.STR})
    def get(self, request: Request, slug: str) -> HttpResponse:
        """The model's README.md: base, data, recipe, results with intervals, prompt format, how to serve it."""
        card = card_of(model_for(person(request), slug))
        return HttpResponse(card, content_type=f"{MARKDOWN}; charset=utf-8")


class EvaluationsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="evaluations_list", responses=EvaluationSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's evaluations, newest first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return paginated_response(self, request, evaluations_of(project), EvaluationSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="evaluations_start",
        request=EvaluationInput,
        responses={202: EvaluationSerializer, **GONE},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Evaluate a model on a snapshot; follow its `state`.

        Codes: invalid (snapshot, split), not_found (model), no_base, not_ready, file_gone, files_gone, id_in_use.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        values = {"model": "", **validated_input(EvaluationInput, request)}
        snapshot = snapshot_for(user, values.pop("snapshot"))
        row = start_evaluation(
            evaluation_id=values.pop("id"), project=project, actor=user, snapshot=snapshot, **values
        )
        return Response(
            EvaluationSerializer(evaluation_for(user, row.pk)).data, status=status.HTTP_202_ACCEPTED
        )


class EvaluationView(APIView):
    @extend_schema(tags=TAG, operation_id="evaluations_read", responses=EvaluationSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, and the report once it is done."""
        return Response(EvaluationSerializer(evaluation_for(person(request), pk)).data)


class ComparisonsView(APIView):
    @extend_schema(tags=TAG, operation_id="evaluations_compare", responses=ComparisonsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Finished evaluations side by side, by snapshot and split, the newest snapshot first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return Response(ComparisonsSerializer({"comparisons": comparisons_of(project)}).data)


urlpatterns = [
    path("projects/<slug:slug>/evaluations/", EvaluationsView.as_view()),
    path("projects/<slug:slug>/evaluations/compare/", ComparisonsView.as_view()),
    path("models/<slug:slug>/card/", ModelCardView.as_view()),
    path("models/<slug:slug>/evaluations/", ModelEvaluationsView.as_view()),
    path("evaluations/<uuid:pk>/", EvaluationView.as_view()),
]
