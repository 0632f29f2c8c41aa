"""REST API of generation: the candidates that an annotator waits for."""

from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope
from accounts.rest.person import person
from generation import services
from generation.selectors import request_for
from generation.serializers import CandidateRequestSerializer

TAG = ["Candidates"]


class CandidateRequestView(APIView):
    @extend_schema(tags=TAG, operation_id="candidate_requests_read", responses=CandidateRequestSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State and candidates of a turn's request."""
        row = request_for(person(request), pk)
        services.nudge(row)
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


urlpatterns = [
    path("candidate-requests/<uuid:pk>/", CandidateRequestView.as_view()),
    path("candidate-requests/<uuid:pk>/retry/", RetryView.as_view()),
]
