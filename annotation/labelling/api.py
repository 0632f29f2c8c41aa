"""REST API of labelling: an annotator's own dialogues, and the disputes that trainers decide."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope, User
from accounts.rest.person import person
from annotation.labelling import serializers
from annotation.labelling.models.labels import Submission
from annotation.labelling.selectors.disputes import dispute_for
from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.selectors.workbench import (
    assignments_to_confirm,
    disputed_tasks,
    final_label_history,
    live_submissions,
    utterances_in,
)
from annotation.labelling.services import drafts, resolution, submissions
from annotation.labelling.services.shown_labels import record_shown_labels
from annotation.tasks.models.work import Assignment, Task
from annotation.tasks.selectors.assignments import assignment_for, assignment_not_found
from annotation.tasks.selectors.queue import today_of
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import NotFound, Refusal
from common.rest.pagination import CursorPagination, paginated_rows
from common.rest.serializers import validated_input
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Labelling"]


def own_assignment(user: User, pk: int) -> Assignment:
    row = assignment_for(user, pk)
    if row.project.protocol != Protocol.LABELLING:
        raise assignment_not_found()
    return row


def claim_ahead(user: User, project: Project, claim_id: UUID | None) -> dict[str, Any]:
    """Claim the next dialogue, or give the reason. The submission before it stays stored either way."""
    if claim_id is None:
        return {"next": None, "nothing": None}
    try:
        claimed = claim_next_task(annotator=user, project=project, claim_id=claim_id, ahead=True)
    except Refusal as refusal:
        return {"next": None, "nothing": serialize_refusal(refusal)}
    return {"next": serializers.serialize_assignment(claimed), "nothing": None}


def serialize_refusal(refusal: Refusal) -> dict[str, Any]:
    return {
        "code": refusal.code,
        "message": str(refusal.message),
        "remedy": str(refusal.remedy),
        "details": refusal.details,
    }


class LabelClaimView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="labelling_claim",
        request=serializers.LabelClaimInput,
        responses={201: serializers.LabellingAssignmentSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Claim the next dialogue.

        Codes: all_done, other_languages, all_claimed (with `until`), too_many_open, limit_reached, balance (with
        `until`).
        """
        project = labelling_project(person(request), slug)
        claim = validated_input(serializers.LabelClaimInput, request)
        claimed = claim_next_task(annotator=person(request), project=project, **claim)
        return Response(serializers.serialize_assignment(claimed), status=status.HTTP_201_CREATED)


class LabellingView(APIView):
    @extend_schema(
        tags=TAG, operation_id="labelling_read", responses=serializers.LabellingAssignmentSerializer
    )
    def get(self, request: Request, pk: int) -> Response:
        """Your own dialogue with draft and answers. Its time starts with the first request."""
        row = own_assignment(person(request), pk)
        return Response(serializers.serialize_assignment(submissions.serve(assignment=row)))


class LabelDraftView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="label_drafts_save",
        request=serializers.LabelDraftInput,
        responses=serializers.DraftSavedSerializer,
    )
    def put(self, request: Request, pk: int) -> Response:
        """Save unsent answers. Code: draft_conflict, with the newer `draft`."""
        sent = {"note": ""} | validated_input(serializers.LabelDraftInput, request)
        own_assignment(person(request), pk)
        draft = drafts.save_label_draft(annotator=person(request), assignment_id=pk, **sent)
        return Response({"version": draft.version, "saved_at": draft.saved_at})


class SubmissionsView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="labels_submit",
        request=serializers.SubmissionInput,
        responses={201: serializers.LabelsStoredSerializer, 200: serializers.LabelsStoredSerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Send answers, a correction or a confirmation. 200 if this id is already stored.

        Codes: invalid (with `problems`), too_early (with `seconds_left`), schema_changed, lease_gone, not_writable,
        decided.
        """
        sent = validated_input(serializers.SubmissionInput, request)
        next_claim = sent.pop("next_claim", None)
        done = submissions.submit_labels(
            annotator=person(request), assignment_id=pk, sent=submissions.SentLabels(**sent)
        )
        assignment = done.submission.assignment
        assignment.task = done.task
        body = {
            "submission": serializers.serialize_stored_submission(done.submission),
            "task_state": done.task.state,
            "assignment": serializers.serialize_assignment_summary(assignment),
            **claim_ahead(person(request), assignment.project, next_claim),
            "today": serialize_today(person(request), assignment.project),
        }
        return Response(body, status=status.HTTP_200_OK if done.repeated else status.HTTP_201_CREATED)


def serialize_today(user: User, project: Project) -> dict[str, int]:
    today = today_of(user, project)
    return {"finished": today.finished, "goal": today.goal}


class SkipView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="labelling_skip",
        request=serializers.SkipInput,
        responses=serializers.SkippedSerializer,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Skip the dialogue, with a reason; it is not offered to you again."""
        sent = validated_input(serializers.SkipInput, request)
        own_assignment(person(request), pk)
        row = submissions.skip_task(annotator=person(request), assignment_id=pk, reason=sent["reason"])
        body = {
            "assignment": serializers.serialize_assignment_summary(row),
            **claim_ahead(person(request), row.project, sent.get("next_claim")),
        }
        return Response(body)


class NewestSubmissions(CursorPagination):
    ordering = "-stored_at"


class MineView(APIView):
    pagination_class = NewestSubmissions

    @extend_schema(
        tags=TAG,
        operation_id="labelling_mine",
        responses=serializers.SubmissionWithOutcomeSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Your own submissions, newest first, each with the final label of its dialogue."""
        project = labelling_project(person(request), slug)
        rows = live_submissions(person(request), project)
        return paginated_rows(
            self,
            request,
            rows,
            lambda page: serialize_outcomes(person(request), page),
        )


def serialize_outcomes(user: User, page: Sequence[Submission]) -> list[dict[str, Any]]:
    shown = [row.task_id for row in page if row.task.overlap > 1 and row.task.live_finals]  # type: ignore[attr-defined]  # prefetched
    record_shown_labels(person=user, tasks=shown)
    return [serializers.serialize_submission_with_outcome(row) for row in page]


class ConfirmationsView(APIView):
    pagination_class = CursorPagination

    @extend_schema(
        tags=TAG,
        operation_id="confirmations_list",
        responses=serializers.LabelAssignmentShortSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Dialogues that you and another person answered differently: compare the answers, confirm or change yours."""
        project = labelling_project(person(request), slug)
        rows = assignments_to_confirm(person(request), project).select_related("project")
        return paginated_rows(
            self, request, rows, lambda page: [serializers.serialize_assignment_summary(row) for row in page]
        )


class DisputesView(APIView):
    pagination_class = CursorPagination

    @extend_schema(
        tags=TAG, operation_id="disputes_list", responses=serializers.DisputeShortSerializer(many=True)
    )
    def get(self, request: Request, slug: str) -> Response:
        """Dialogues that a trainer has to decide."""
        project = labelling_project(person(request), slug, Capability.DECIDE)
        rows = disputed_tasks(project)
        return paginated_rows(
            self, request, rows, lambda page: [serializers.serialize_dispute(row) for row in page]
        )


def dispute_or_404(user: User, pk: int) -> Task:
    """A disputed or decided task of a project in which the user may decide."""
    project = Project.objects.filter(tasks=pk, protocol=Protocol.LABELLING).first()
    task = dispute_for(user, project_for(user, project.slug, Capability.DECIDE), pk) if project else None
    if task is None:
        raise NotFound(_("There is no such dispute."), _("Go back to the list."))
    record_shown_labels(person=user, tasks=[task.pk])
    return task


class DisputeView(APIView):
    @extend_schema(tags=TAG, operation_id="disputes_read", responses=serializers.DisputeFullSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """The dialogue, everybody's answers and notes, and earlier decisions."""
        task = dispute_or_404(person(request), pk)
        body = {
            **serializers.serialize_dispute(task),
            "state": task.state,
            "utterances": utterances_in(cast(int, task.dialogue_id)),
            "answers": [serializers.serialize_person_answers(row) for row in cast(Any, task).answered],
            "history": serializers.FinalLabelSerializer(final_label_history(task), many=True).data,
        }
        return Response(body)


class DecisionView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="disputes_decide",
        request=serializers.DecisionInput,
        responses=serializers.DisputeShortSerializer,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Decide the answers, with a reason.

        Codes: invalid, not_disputed, already_decided (with `final`), own_work, id_in_use.
        """
        sent = validated_input(serializers.DecisionInput, request)
        dispute_or_404(person(request), pk)
        decided = resolution.decide_dispute(
            trainer=person(request),
            task_id=pk,
            decision_id=sent["id"],
            answers=sent["answers"],
            reason=sent["reason"],
            replaces=sent.get("replaces"),
        )
        return Response(serializers.serialize_dispute(decided))


urlpatterns = [
    path("projects/<slug:slug>/labelling/claim/", LabelClaimView.as_view(), name="api_labelling_claim"),
    path("projects/<slug:slug>/labelling/mine/", MineView.as_view(), name="api_labelling_mine"),
    path("projects/<slug:slug>/confirmations/", ConfirmationsView.as_view(), name="api_confirmations"),
    path("projects/<slug:slug>/disputes/", DisputesView.as_view(), name="api_disputes"),
    path("labelling/<int:pk>/", LabellingView.as_view(), name="api_labelling"),
    path("labelling/<int:pk>/draft/", LabelDraftView.as_view(), name="api_label_draft"),
    path("labelling/<int:pk>/submissions/", SubmissionsView.as_view(), name="api_submissions"),
    path("labelling/<int:pk>/skip/", SkipView.as_view(), name="api_skip"),
    path("disputes/<int:pk>/", DisputeView.as_view(), name="api_dispute"),
    path("disputes/<int:pk>/decision/", DecisionView.as_view(), name="api_decision"),
]
