"""REST API of batches and their rounds: cut, seal, regroup, accept or return; the plan and the boards."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.rest.person import person
from annotation.batch_review.selectors.access import batches_project_for, round_for
from annotation.batch_review.selectors.batch_plan import batch_plan_for
from annotation.batch_review.selectors.boards import Boards
from annotation.batch_review.selectors.rounds import rounds_with_counts
from annotation.batch_review.serializers.plan import (
    BatchPlanInput,
    BatchPlanSerializer,
    BoardsSerializer,
    serialize_boards,
)
from annotation.batch_review.serializers.rounds import (
    AcceptInput,
    BatchSerializer,
    CutBatchesSerializer,
    CutInput,
    RegroupInput,
    ReturnedRoundSerializer,
    ReturnInput,
    RoundFilters,
    RoundSerializer,
    RoundWithCountsSerializer,
    UndoVerdictInput,
    UnsealInput,
    serialize_round,
    serialize_round_with_counts,
)
from annotation.batch_review.services.batch_plan import update_batch_plan
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.regrouping import regroup_round
from annotation.batch_review.services.sealing import seal_round, unseal_round
from annotation.batch_review.services.undoing import undo_acceptance, undo_return
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import Round
from common.rest.pagination import NewestFirst, paginated_rows
from common.rest.serializers import validated_input, validated_query
from projects.roles import Capability

TAG = ["Batches"]


class BatchesView(APIView):
    @extend_schema(
        tags=TAG, operation_id="batches_cut", request=CutInput, responses={201: CutBatchesSerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Cut the dialogues that are in no batch into batches. Codes: nothing_to_cut, wrong_protocol."""
        user = person(request)
        project = labelling_project(user, slug, Capability.CONFIGURE)
        sent = validated_input(CutInput, request)
        batches = cut_batches(project=project, actor=user, cut_id=sent.pop("id"), **sent)
        body = {"batches": BatchSerializer(batches, many=True).data}
        return Response(body, status=status.HTTP_201_CREATED)


class PlanView(APIView):
    @extend_schema(tags=TAG, operation_id="batch_plan_read", responses=BatchPlanSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """How batches are cut and judged."""
        project = batches_project_for(person(request), slug)
        return Response(BatchPlanSerializer(batch_plan_for(project)).data)

    @extend_schema(
        tags=TAG, operation_id="batch_plan_update", request=BatchPlanInput, responses=BatchPlanSerializer
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change parts of the plan; samples that are already drawn keep theirs."""
        user = person(request)
        project = labelling_project(user, slug, Capability.CONFIGURE)
        changes = validated_input(BatchPlanInput, request)
        plan = update_batch_plan(project=project, actor=user, changes=changes)
        return Response(BatchPlanSerializer(plan).data)


class BoardsView(APIView):
    @extend_schema(tags=TAG, operation_id="batch_boards", responses=BoardsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Batches by state, rounds needed, acceptance by group and over time, and what each controller judged."""
        project = labelling_project(person(request), slug, Capability.READ_STATISTICS)
        return Response(serialize_boards(Boards(project)))


class RoundsView(APIView):
    pagination_class = NewestFirst

    @extend_schema(
        tags=TAG,
        operation_id="rounds_list",
        parameters=[RoundFilters],
        responses=RoundWithCountsSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every round of every batch, the newest first."""
        project = batches_project_for(person(request), slug)
        filters = validated_query(RoundFilters, request)
        if "batch" in filters:
            filters["batch__number"] = filters.pop("batch")
        rows = rounds_with_counts(project).filter(**filters)
        return paginated_rows(
            self, request, rows, lambda page: [serialize_round_with_counts(row) for row in page]
        )


class RoundView(APIView):
    @extend_schema(tags=TAG, operation_id="rounds_read", responses=RoundSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """One round."""
        return Response(serialize_round(round_for(person(request), pk)))


class StepView(APIView):
    """One step of a round; the response is the round after it."""

    needs = Capability.CONFIGURE

    def post(self, request: Request, pk: int) -> Response:
        user = person(request)
        self.step(request, user, round_for(user, pk, self.needs))
        return Response(serialize_round(round_for(user, pk)))

    def step(self, request: Request, user: User, row: Round) -> None:
        raise NotImplementedError


def step_schema(operation_id: str, request: Any) -> Any:
    """Describe the POST of a StepView."""
    described = extend_schema(tags=TAG, operation_id=operation_id, request=request, responses=RoundSerializer)
    return extend_schema_view(post=described)


@step_schema("rounds_seal", None)
class SealView(StepView):
    """Close a round to changes. It happens by itself with the last label. Code: not_complete (with `missing`)."""

    def step(self, request: Request, user: User, row: Round) -> None:
        seal_round(actor=user, round_id=row.pk)


@step_schema("rounds_unseal", UnsealInput)
class UnsealView(StepView):
    """Open a sealed round for corrections, before a sample is drawn. Code: in_review."""

    def step(self, request: Request, user: User, row: Round) -> None:
        sent = validated_input(UnsealInput, request)
        unseal_round(actor=user, round_id=row.pk, reason=sent["reason"])


@step_schema("rounds_regroup", RegroupInput)
class GroupView(StepView):
    """Give what is still to be labelled to another group. Code: not_open."""

    def step(self, request: Request, user: User, row: Round) -> None:
        sent = validated_input(RegroupInput, request)
        regroup_round(actor=user, round_id=row.pk, group=sent["group"])


@step_schema("rounds_accept", AcceptInput)
class AcceptView(StepView):
    """Accept a round whose sample passes. Codes: not_decided, fails, open_appeals, not_in_review."""

    needs = Capability.REVIEW

    def step(self, request: Request, user: User, row: Round) -> None:
        sent = validated_input(AcceptInput, request)
        accept_round(controller=user, round_id=row.pk, decision_id=sent.pop("id"), **sent)


@step_schema("rounds_undo_acceptance", UndoVerdictInput)
class UndoAcceptanceView(StepView):
    """Undo an acceptance within ten minutes. Codes: not_accepted, too_late, secrets_shown."""

    needs = Capability.REVIEW

    def step(self, request: Request, user: User, row: Round) -> None:
        sent = validated_input(UndoVerdictInput, request)
        undo_acceptance(controller=user, round_id=row.pk, decision_id=sent["id"])


@step_schema("rounds_undo_return", UndoVerdictInput)
class UndoReturnView(StepView):
    """Undo a return within ten minutes, unless somebody works on the next round.

    Codes: not_returned, too_late, secrets_shown, worked_on.
    """

    needs = Capability.REVIEW

    def step(self, request: Request, user: User, row: Round) -> None:
        sent = validated_input(UndoVerdictInput, request)
        undo_return(controller=user, round_id=row.pk, decision_id=sent["id"])


class ReturnView(APIView):
    @extend_schema(
        tags=TAG, operation_id="rounds_return", request=ReturnInput, responses=ReturnedRoundSerializer
    )
    def post(self, request: Request, pk: int) -> Response:
        """Return a round whose sample fails: its labels are withdrawn and the next round opens.

        Codes: not_decided, passes, open_appeals, not_in_review.
        """
        user = person(request)
        row = round_for(user, pk, Capability.REVIEW)
        sent = validated_input(ReturnInput, request)
        following = return_round(controller=user, round_id=row.pk, decision_id=sent.pop("id"), **sent)
        body = {
            "round": serialize_round(round_for(user, pk)),
            "next": serialize_round(round_for(user, following.pk)),
        }
        return Response(body)
