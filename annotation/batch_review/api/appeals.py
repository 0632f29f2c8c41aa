"""REST API of appeals, and of what annotators learn about their judged answers."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope
from accounts.rest.person import person
from annotation.batch_review.selectors.access import appeal_to_settle, appeals_for, disputable_item_for
from annotation.batch_review.selectors.annotator_accuracy import judged_answers, judged_items_of
from annotation.batch_review.serializers.appeals import (
    AppealFilters,
    AppealInput,
    AppealSerializer,
    JudgedAnswerSerializer,
    SettlementInput,
    serialize_appeals,
    serialize_judged_answer,
)
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from common.rest.pagination import CursorPagination, NewestFirst, paginated_rows
from common.rest.serializers import validated_input, validated_query
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Appeals"]


class NewestAppeals(CursorPagination):
    ordering = ("-raised_at", "-pk")


class AppealsView(APIView):
    pagination_class = NewestAppeals

    @extend_schema(
        tags=TAG,
        operation_id="appeals_list",
        parameters=[AppealFilters],
        responses=AppealSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every appeal, for trainers; your own, for others."""
        user = person(request)
        rows = appeals_for(user, project_for(user, slug)).filter(**validated_query(AppealFilters, request))
        return paginated_rows(self, request, rows, serialize_appeals)


class RaiseView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG, operation_id="appeals_raise", request=AppealInput, responses={201: AppealSerializer}
    )
    def post(self, request: Request, pk: int) -> Response:
        """Dispute a correction. Codes: not_corrected, appealed."""
        user = person(request)
        item = disputable_item_for(user, pk)
        sent = validated_input(AppealInput, request)
        raised = raise_appeal(by=user, item_id=pk, appeal_id=sent["id"], reason=sent["reason"])
        appeal = appeals_for(user, item.sample.round.project).get(pk=raised.pk)
        return Response(serialize_appeals([appeal])[0], status=status.HTTP_201_CREATED)


class SettlementView(APIView):
    @extend_schema(
        tags=TAG, operation_id="appeals_settle", request=SettlementInput, responses=AppealSerializer
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Decide whether the correction is right; accuracies are counted again. Codes: own_case, already_settled."""
        user = person(request)
        appeal_to_settle(user, pk)
        sent = validated_input(SettlementInput, request)
        settle_appeal(trainer=user, appeal_id=pk, **sent)
        return Response(serialize_appeals([appeal_to_settle(user, pk)])[0])


class JudgedWorkView(APIView):
    pagination_class = NewestFirst

    @extend_schema(tags=TAG, operation_id="judged_work", responses=JudgedAnswerSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Your own dialogues in the samples of ended rounds: your answers, the right ones, and why."""
        user = person(request)
        project = project_for(user, slug, Capability.ANNOTATE)
        return paginated_rows(
            self,
            request,
            judged_items_of(user, project),
            lambda page: [serialize_judged_answer(answer) for answer in judged_answers(user, page)],
        )
