"""REST API of batches: cut, seal, draw, judge, accept or return; appeals, and what annotators learn of samples."""

from typing import Any, cast
from uuid import UUID

from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope, User
from accounts.rest.person import person
from annotation.batch_review import plan_serializers as managing
from annotation.batch_review import serializers as shapes
from annotation.batch_review.models import Appeal, Sample, SampleItem
from annotation.batch_review.selectors import sample_review as selectors
from annotation.batch_review.selectors.accuracy import corrected, judged_work
from annotation.batch_review.selectors.batches import plan_of, rounds_of, sample_for
from annotation.batch_review.selectors.boards import Boards
from annotation.batch_review.serializers import next_of, progress_in
from annotation.batch_review.services import batches, sample_review, sampling
from annotation.batch_review.services.plan import update_batch_plan
from annotation.batch_review.services.sample_review import SentJudgement
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import Round
from common.refusals import NotFound
from common.rest.pagination import CursorPagination, NewestFirst
from common.rest.serializers import validated_input, validated_query
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

TAG, SAMPLES, APPEALS = ["Batches"], ["Batch review"], ["Appeals"]
MANAGES = Capability.CONFIGURE
JUDGES = Capability.REVIEW


# ---- batches and their rounds ----------------------------------------------------------------------------------------


class BatchesView(APIView):
    @extend_schema(
        tags=TAG, operation_id="batches_cut", request=shapes.CutInput, responses={201: shapes.BatchesMade}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Cut what is in no batch into batches. Codes: nothing_to_cut, wrong_protocol."""
        user = person(request)
        project = labelling_project(user, slug, MANAGES)
        sent = validated_input(shapes.CutInput, request)
        made = batches.cut_batches(project=project, actor=user, cut_id=sent.pop("id"), **sent)
        return Response({"batches": shapes.BatchMade(made, many=True).data}, status=status.HTTP_201_CREATED)


class PlanView(APIView):
    @extend_schema(tags=TAG, operation_id="batch_plan_read", responses=managing.PlanShape)
    def get(self, request: Request, slug: str) -> Response:
        """How batches are cut and judged."""
        project = selectors.batched_project(person(request), slug)
        return Response(managing.PlanShape(plan_of(project)).data)

    @extend_schema(
        tags=TAG, operation_id="batch_plan_update", request=managing.PlanInput, responses=managing.PlanShape
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change what is sent of the plan; samples that are drawn keep theirs."""
        user = person(request)
        project = labelling_project(user, slug, MANAGES)
        sent = validated_input(managing.PlanInput, request)
        plan = update_batch_plan(project=project, actor=user, changes=sent)
        return Response(managing.PlanShape(plan).data)


class BoardsView(APIView):
    @extend_schema(tags=TAG, operation_id="batch_boards", responses=managing.BoardsShape)
    def get(self, request: Request, slug: str) -> Response:
        """Batches by state, rounds needed, acceptance by group and over time, and what each controller judged."""
        project = labelling_project(person(request), slug, Capability.READ_STATISTICS)
        return Response(managing.of_boards(Boards(project)))


class RoundsView(APIView):
    pagination_class = NewestFirst

    @extend_schema(
        tags=TAG,
        operation_id="rounds_list",
        parameters=[shapes.RoundFilters],
        responses=shapes.RoundInList(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every round of every batch, the newest first."""
        project = selectors.batched_project(person(request), slug)
        wanted = validated_query(shapes.RoundFilters, request)
        if "batch" in wanted:
            wanted["batch__number"] = wanted.pop("batch")
        pages = self.pagination_class()
        rows = pages.paginate_queryset(rounds_of(project).filter(**wanted), request, view=self) or []
        return pages.get_paginated_response([shapes.of_listed(row) for row in rows])


class RoundView(APIView):
    @extend_schema(tags=TAG, operation_id="rounds_read", responses=shapes.RoundShape)
    def get(self, request: Request, pk: int) -> Response:
        """One round."""
        return Response(shapes.of_round(selectors.round_for(person(request), pk)))


class StepView(APIView):
    """One step of a round; answers with the round as it is then."""

    needs = MANAGES

    def post(self, request: Request, pk: int) -> Response:
        user = person(request)
        self.step(request, user, selectors.round_for(user, pk, self.needs))
        return Response(shapes.of_round(selectors.round_for(user, pk)))

    def step(self, request: Request, user: User, row: Round) -> None:
        raise NotImplementedError


def step(name: str, request: Any) -> Any:
    """Describes the POST of a StepView."""
    described = extend_schema(tags=TAG, operation_id=name, request=request, responses=shapes.RoundShape)
    return extend_schema_view(post=described)


@step("rounds_seal", None)
class SealView(StepView):
    """Close a round to changes. It happens by itself with the last label. Code: not_complete (with `missing`)."""

    def step(self, request: Request, user: User, row: Round) -> None:
        batches.seal_round(actor=user, round_id=row.pk)


@step("rounds_unseal", shapes.WhyInput)
class UnsealView(StepView):
    """Open a sealed round for corrections, before a sample is drawn. Code: in_review."""

    def step(self, request: Request, user: User, row: Round) -> None:
        sent = validated_input(shapes.WhyInput, request)
        batches.unseal_round(actor=user, round_id=row.pk, reason=sent["reason"])


@step("rounds_regroup", shapes.GroupInput)
class GroupView(StepView):
    """Give what is still to be labelled to another group. Code: not_open."""

    def step(self, request: Request, user: User, row: Round) -> None:
        sent = validated_input(shapes.GroupInput, request)
        batches.regroup_round(actor=user, round_id=row.pk, group=sent["group"])


@step("rounds_accept", shapes.AcceptInput)
class AcceptView(StepView):
    """Accept a round whose sample passes. Codes: not_decided, fails, open_appeals, not_in_review."""

    needs = JUDGES

    def step(self, request: Request, user: User, row: Round) -> None:
        sent = validated_input(shapes.AcceptInput, request)
        sample_review.accept_round(
            controller=user, round_id=row.pk, decision_id=sent["id"], reason=sent.get("reason", "")
        )


class ReturnView(APIView):
    @extend_schema(
        tags=TAG, operation_id="rounds_return", request=shapes.ReturnInput, responses=shapes.Returned
    )
    def post(self, request: Request, pk: int) -> Response:
        """Return a round whose sample fails: its labels are withdrawn and the next round opens.

        Codes: not_decided, passes, open_appeals, not_in_review.
        """
        user = person(request)
        row = selectors.round_for(user, pk, JUDGES)
        sent = validated_input(shapes.ReturnInput, request)
        following = sample_review.return_round(
            controller=user, round_id=row.pk, decision_id=sent.pop("id"), **sent
        )
        body = {
            "round": shapes.of_round(selectors.round_for(user, pk)),
            "next": shapes.of_round(selectors.round_for(user, following.pk)),
        }
        return Response(body)


# ---- samples ---------------------------------------------------------------------------------------------------------


def sample_of(row: Round) -> Sample:
    sample = sample_for(row.project, row.pk)
    if sample is None:
        raise NotFound(_("No sample of this batch was drawn yet."), _("Draw one and judge it first."))
    return sample


class SampleView(APIView):
    @extend_schema(tags=SAMPLES, operation_id="samples_read", responses=shapes.SampleShape)
    def get(self, request: Request, pk: int) -> Response:
        """How the sample of a round was drawn, and what it says so far."""
        sample = sample_of(selectors.round_for(person(request), pk))
        return Response(shapes.of_sample(sample, selectors.progress_of(person(request), sample)))

    @extend_schema(
        tags=SAMPLES,
        operation_id="samples_draw",
        request=shapes.DrawInput,
        responses={201: shapes.SampleShape},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Draw the sample of a sealed round. Codes: already_drawn, not_sealed, own_work."""
        user = person(request)
        row = selectors.round_for(user, pk, JUDGES)
        sent = validated_input(shapes.DrawInput, request)
        sampling.draw_sample(controller=user, round_id=row.pk, sample_id=sent["id"], seed=sent.get("seed"))
        sample = sample_of(row)
        body = shapes.of_sample(sample, selectors.progress_of(user, sample))
        return Response(body, status=status.HTTP_201_CREATED)


class NextView(APIView):
    @extend_schema(
        tags=SAMPLES, operation_id="samples_next", parameters=[shapes.NextFilters], responses=shapes.NextShape
    )
    def get(self, request: Request, pk: int) -> Response:
        """What you judge next. Others who share the sample are given other dialogues for a while."""
        sample = sample_of(selectors.round_for(person(request), pk, JUDGES))
        count = validated_query(shapes.NextFilters, request).get("count", 1)
        return Response({"items": next_of(person(request), sample, count)})


class ItemView(APIView):
    @extend_schema(tags=SAMPLES, operation_id="samples_item", responses=shapes.ItemShape)
    def get(self, request: Request, pk: int) -> Response:
        """One drawn dialogue, with your judgement on it and, where you may see it, the label."""
        user = person(request)
        return Response(selectors.shown_to(user, selectors.item_for(user, pk)))


class JudgementsView(APIView):
    @extend_schema(
        tags=SAMPLES,
        operation_id="samples_judge",
        request=shapes.JudgementInput,
        responses={201: shapes.JudgedShape},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Judge a drawn dialogue, or correct what you said of it.

        Codes: invalid (with `problems`), blind, judged_already, own_work, not_in_review.
        """
        user = person(request)
        item = selectors.item_for(user, pk)
        sent = validated_input(shapes.JudgementInput, request)
        count, held = sent.pop("next", 0), sent.pop("held", [])
        made = sample_review.judge(controller=user, item_id=pk, sent=SentJudgement(**sent))
        sample = sample_of(item.sample.round)
        body = {
            "id": made.pk,
            "item": pk,
            "is_right": made.is_right,
            "label": item.final.answers,
            "next": next_of(user, sample, count, held),
            **progress_in(user, sample),
        }
        return Response(body, status=status.HTTP_201_CREATED)


# ---- appeals and what annotators learn -------------------------------------------------------------------------------


class NewestAppeals(CursorPagination):
    ordering = ("-raised_at", "-pk")


def of_appeals(rows: list[Appeal]) -> list[dict[str, Any]]:
    said = selectors.corrections(row.item_id for row in rows)
    return [shapes.of_appeal(row, said.get(row.item_id)) for row in rows]


class AppealsView(APIView):
    pagination_class = NewestAppeals

    @extend_schema(
        tags=APPEALS,
        operation_id="appeals_list",
        parameters=[shapes.AppealFilters],
        responses=shapes.AppealShape(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every appeal, for trainers; your own, for others."""
        user = person(request)
        rows = selectors.appeals_for(user, project_for(user, slug))
        pages = self.pagination_class()
        wanted = rows.filter(**validated_query(shapes.AppealFilters, request))
        page = cast(list[Appeal], pages.paginate_queryset(wanted, request, view=self) or [])
        return pages.get_paginated_response(of_appeals(page))


class RaiseView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=APPEALS,
        operation_id="appeals_raise",
        request=shapes.AppealInput,
        responses={201: shapes.AppealShape},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Dispute a correction. Codes: not_corrected, appealed."""
        user = person(request)
        item = selectors.disputable_item(user, pk)
        sent = validated_input(shapes.AppealInput, request)
        made = sample_review.raise_appeal(by=user, item_id=pk, appeal_id=sent["id"], reason=sent["reason"])
        [body] = of_appeals([selectors.appeals_for(user, item.sample.round.project).get(pk=made.pk)])
        return Response(body, status=status.HTTP_201_CREATED)


class SettlementView(APIView):
    @extend_schema(
        tags=APPEALS,
        operation_id="appeals_settle",
        request=shapes.SettlementInput,
        responses=shapes.AppealShape,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Say whether the correction holds; accuracies are counted anew. Codes: own_case, and wrong_state."""
        user = person(request)
        project = _project_of_appeal(user, pk)
        if not selectors.appeals_for(user, project).filter(pk=pk).exists():
            raise _missing_appeal()
        sent = validated_input(shapes.SettlementInput, request)
        sample_review.settle_appeal(trainer=user, appeal_id=pk, **sent)
        [body] = of_appeals([selectors.appeals_for(user, project).get(pk=pk)])
        return Response(body)


def _project_of_appeal(user: User, pk: UUID) -> Project:
    project = Project.objects.filter(rounds__sample__items__appeals=pk).first()
    if project is None:
        raise _missing_appeal()
    return project_for(user, project.slug, Capability.DECIDE)


def _missing_appeal() -> NotFound:
    return NotFound(_("There is no such appeal."), _("Go back to the list."))


class JudgedWorkView(APIView):
    pagination_class = NewestFirst

    @extend_schema(tags=APPEALS, operation_id="judged_work", responses=shapes.CorrectedShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Your own dialogues in the samples of ended rounds: what you said, what was found right, and why."""
        user = person(request)
        project = project_for(user, slug, Capability.ANNOTATE)
        pages = self.pagination_class()
        rows = pages.paginate_queryset(judged_work(user, project), request, view=self) or []
        found = corrected(user, cast(list[SampleItem], rows))
        return pages.get_paginated_response([shapes.of_corrected(one) for one in found])


urlpatterns = [
    path("projects/<slug:slug>/batches/", BatchesView.as_view(), name="api_batches"),
    path("projects/<slug:slug>/batches/plan/", PlanView.as_view(), name="api_batch_plan"),
    path("projects/<slug:slug>/batches/boards/", BoardsView.as_view(), name="api_batch_boards"),
    path("projects/<slug:slug>/rounds/", RoundsView.as_view(), name="api_rounds"),
    path("projects/<slug:slug>/appeals/", AppealsView.as_view(), name="api_appeals"),
    path("projects/<slug:slug>/judged/", JudgedWorkView.as_view(), name="api_judged"),
    path("rounds/<int:pk>/", RoundView.as_view(), name="api_round"),
    path("rounds/<int:pk>/seal/", SealView.as_view(), name="api_seal"),
    path("rounds/<int:pk>/unseal/", UnsealView.as_view(), name="api_unseal"),
    path("rounds/<int:pk>/group/", GroupView.as_view(), name="api_regroup"),
    path("rounds/<int:pk>/accept/", AcceptView.as_view(), name="api_accept"),
    path("rounds/<int:pk>/return/", ReturnView.as_view(), name="api_return"),
    path("rounds/<int:pk>/sample/", SampleView.as_view(), name="api_sample"),
    path("rounds/<int:pk>/sample/next/", NextView.as_view(), name="api_sample_next"),
    path("sample-items/<int:pk>/", ItemView.as_view(), name="api_sample_item"),
    path("sample-items/<int:pk>/judgements/", JudgementsView.as_view(), name="api_judgements"),
    path("sample-items/<int:pk>/appeals/", RaiseView.as_view(), name="api_raise_appeal"),
    path("appeals/<uuid:pk>/settlement/", SettlementView.as_view(), name="api_settlement"),
]
