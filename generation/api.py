"""REST API of generation: the candidates that an annotator waits for, and the models that write them."""

from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope
from accounts.rest.person import person
from common.rest.pagination import CursorPagination, paginated_response
from common.rest.serializers import validated_input
from generation import generators, services
from generation.selectors import generator_for, generators_for, request_for
from generation.serializers import (
    CandidateRequestSerializer,
    GeneratorChange,
    GeneratorInput,
    GeneratorSerializer,
)

TAG = ["Candidates"]
MODELS = ["Models"]


class CandidateRequestView(APIView):
    @extend_schema(tags=TAG, operation_id="candidate_requests_read", responses=CandidateRequestSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State and candidates of a turn's request."""
        row = request_for(person(request), pk)
        services.wake_if_overdue(row)
        return Response(CandidateRequestSerializer(row).data)


class RetryView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG, operation_id="candidate_requests_retry", request=None, responses=CandidateRequestSerializer
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Queue a failed request again. Code: already_done."""
        row = services.retry_request(request=request_for(person(request), pk))
        return Response(CandidateRequestSerializer(row).data)


class GeneratorsView(APIView):
    pagination_class = CursorPagination

    @extend_schema(tags=MODELS, operation_id="generators_list", responses=GeneratorSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The models that projects can choose among, for people who configure a project."""
        return paginated_response(self, request, generators_for(person(request)), GeneratorSerializer)

    @extend_schema(
        tags=MODELS,
        operation_id="generators_create",
        request=GeneratorInput,
        responses={201: GeneratorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Add a model. Codes: invalid (an option), name_taken."""
        generators_for(person(request))
        generator = generators.create_generator(
            actor=person(request), **validated_input(GeneratorInput, request)
        )
        return Response(GeneratorSerializer(generator).data, status=status.HTTP_201_CREATED)


class GeneratorView(APIView):
    @extend_schema(tags=MODELS, operation_id="generators_read", responses=GeneratorSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """One model."""
        return Response(GeneratorSerializer(generator_for(person(request), slug)).data)

    @extend_schema(
        tags=MODELS, operation_id="generators_change", request=GeneratorChange, responses=GeneratorSerializer
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change where its replies come from. Code: invalid (an option)."""
        row = generator_for(person(request), slug)
        values = validated_input(GeneratorChange, request)
        changed = generators.change_generator(actor=person(request), generator=row, **values)
        return Response(GeneratorSerializer(changed).data)


urlpatterns = [
    path("candidate-requests/<uuid:pk>/", CandidateRequestView.as_view()),
    path("candidate-requests/<uuid:pk>/retry/", RetryView.as_view()),
    path("generators/", GeneratorsView.as_view()),
    path("generators/<slug:slug>/", GeneratorView.as_view()),
]
