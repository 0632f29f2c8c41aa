"""REST API of annotation: projects' tasks, and the annotator's own work. Every view is one call of a service."""

from collections.abc import Callable
from dataclasses import asdict
from typing import ClassVar, cast
from uuid import UUID

from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope, User
from accounts.rest.person import person
from annotation.authoring import serializers as shapes
from annotation.authoring.selectors.workbench import openings_of
from annotation.authoring.serializers import full
from annotation.authoring.services import candidates, completion, drafts, turns
from annotation.authoring.services.planning import plan_dialogues
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.selectors.assignments import assignment_for, assignments_of
from annotation.tasks.selectors.queue import today_of
from annotation.tasks.services import assignment as holding
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import NotFound
from common.rest.pagination import CursorPagination
from common.rest.serializers import validated_input
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Annotation"]


def authoring_project(user: User, slug: str) -> Project:
    project = project_for(user, slug)
    if project.protocol != Protocol.AUTHORING:
        raise NotFound(
            _("“%(slug)s” is no authoring project.") % {"slug": slug},
            _("Claim its dialogues at labelling/claim/."),
        )
    return project


def own(request: Request, pk: int) -> Assignment:
    """The person's own dialogue that is written, not labelled."""
    return assignment_for(person(request), pk, Protocol.AUTHORING)


class AssignmentsView(APIView):
    """The work of the person who asks, in one project."""

    pagination_class = CursorPagination
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="assignments_list",
        parameters=[OpenApiParameter("state", enum=AssignmentState.values, many=True, explode=True)],
        responses=shapes.AssignmentShort(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        project = project_for(person(request), slug)
        states = [state for state in request.query_params.getlist("state") if state in AssignmentState.values]
        pages = self.pagination_class()
        rows = (
            pages.paginate_queryset(assignments_of(person(request), project, states), request, view=self)
            or []
        )
        openings = openings_of(rows)
        return pages.get_paginated_response(
            [shapes.of_assignment(row, openings.get(row.dialogue_id)) for row in rows]
        )

    @extend_schema(
        tags=TAG,
        operation_id="assignments_claim",
        request=shapes.ClaimInput,
        responses={201: shapes.AssignmentFull},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Claim the next task. Codes: all_done, all_claimed (with `until`), too_many_open."""
        project = authoring_project(person(request), slug)
        claimed = claim_next_task(
            annotator=person(request), project=project, **validated_input(shapes.ClaimInput, request)
        )
        return Response(full(own(request, claimed.pk)), status=status.HTTP_201_CREATED)


class AssignmentView(APIView):
    @extend_schema(tags=TAG, operation_id="assignments_read", responses=shapes.AssignmentFull)
    def get(self, request: Request, pk: int) -> Response:
        """Your own dialogue: what is written, the draft, the settings, the present turn's candidates."""
        return Response(full(own(request, pk)))


class DraftView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG, operation_id="drafts_save", request=shapes.DraftInput, responses=shapes.DraftSerializer
    )
    def put(self, request: Request, pk: int) -> Response:
        """Keep unsent words. Code: draft_conflict, with the newer `draft`."""
        sent = {"candidate_set": None, "source": None} | validated_input(shapes.DraftInput, request)
        draft = drafts.save_draft(annotator=person(request), assignment_id=pk, **sent)
        return Response(shapes.DraftSerializer(draft).data)


class TurnsView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="turns_submit",
        request=shapes.TurnInput,
        responses={201: shapes.TurnStored, 200: shapes.TurnStored},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Send an utterance. 200 when this id was stored before. Codes: out_of_order, written_elsewhere, lease_gone,
        not_writable, invalid."""
        sent = turns.SentTurn(**validated_input(shapes.TurnInput, request))
        outcome = turns.submit_turn(annotator=person(request), assignment_id=pk, sent=sent)
        body = {
            "turn": shapes.TurnSerializer(outcome.turn).data,
            "assignment": shapes.of_assignment(own(request, pk)),
            "request": shapes.of_request(outcome.request),
        }
        return Response(body, status=status.HTTP_200_OK if outcome.repeated else status.HTTP_201_CREATED)


class UndoView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG, operation_id="turns_undo", request=shapes.UndoInput, responses=shapes.TurnRemoved
    )
    def post(self, request: Request, pk: int) -> Response:
        """Take the last turn back. Code: not_last."""
        outcome = turns.undo_turn(
            annotator=person(request), assignment_id=pk, **validated_input(shapes.UndoInput, request)
        )
        body = {
            "removed": outcome.turn.pk,
            "text": outcome.turn.text,
            "position": outcome.turn.position,
            "assignment": shapes.of_assignment(own(request, pk)),
            "request": shapes.of_request(outcome.request),
        }
        return Response(body)


class CandidatesView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="candidates_request",
        request=shapes.CandidatesInput,
        responses=shapes.CandidateRequestSerializer,
    )
    def post(self, request: Request, pk: int) -> Response:
        """The present turn's candidate set number `ordinal`. Codes: too_many_sets, opening."""
        wanted = validated_input(shapes.CandidatesInput, request)
        made = candidates.request_candidate_set(annotator=person(request), assignment_id=pk, **wanted)
        return Response(shapes.of_request(made))


class AheadView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG, operation_id="candidates_ahead", request=shapes.AheadInput, responses={202: None}
    )
    def post(self, request: Request, pk: int) -> Response:
        """Tell that a draft rests, so that its candidates can be generated ahead."""
        candidates.generate_ahead(
            annotator=person(request), assignment_id=pk, **validated_input(shapes.AheadInput, request)
        )
        return Response(status=status.HTTP_202_ACCEPTED)


class ResetView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(tags=TAG, operation_id="assignments_reset", request=None, responses=shapes.ResetDone)
    def post(self, request: Request, pk: int) -> Response:
        """Undo every turn; the answer's ids bring them back with `restore`."""
        return Response({"turn_ids": turns.reset_dialogue(annotator=person(request), assignment_id=pk)})


class RestoreView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="assignments_restore",
        request=shapes.RestoreInput,
        responses=shapes.AssignmentFull,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Bring back what a reset removed. Code: written_since."""
        wanted: list[UUID] = validated_input(shapes.RestoreInput, request)["turn_ids"]
        turns.restore_turns(annotator=person(request), assignment_id=pk, turn_ids=wanted)
        return Response(full(own(request, pk)))


class ActionView(APIView):
    """One thing that can be done with an assignment as a whole; answers with its short form."""

    write_scope = Scope.ANNOTATE
    service: ClassVar[Callable[..., Assignment]]
    takes_reason: ClassVar[bool] = False
    tells_today: ClassVar[bool] = False

    def act(self, request: Request, pk: int) -> Response:
        sent = validated_input(shapes.ReasonInput, request) if self.takes_reason else {}
        type(self).service(annotator=person(request), assignment_id=pk, **sent)
        row = assignment_for(person(request), pk)
        today = {"today": asdict(today_of(person(request), row.project))} if self.tells_today else {}
        return Response(shapes.of_assignment(row) | today)


def action(
    name: str,
    service: Callable[..., Assignment],
    doc: str,
    *,
    takes_reason: bool = False,
    tells_today: bool = False,
) -> URLPattern:
    """The address of one service function that takes annotator and assignment_id (and a reason)."""

    def post(self: ActionView, request: Request, pk: int) -> Response:
        return self.act(request, pk)

    described = extend_schema(
        tags=TAG,
        operation_id=f"assignments_{name.replace('-', '_')}",
        description=doc,
        request=shapes.ReasonInput if takes_reason else None,
        responses={200: shapes.AssignmentAndToday if tells_today else shapes.AssignmentShort},
    )(post)
    members = {"service": staticmethod(service), "takes_reason": takes_reason, "post": described}
    members["tells_today"] = tells_today
    view = cast(type[ActionView], type(f"{name.title().replace('-', '')}View", (ActionView,), members))
    return path(f"assignments/<int:pk>/{name}/", view.as_view())


class PlanView(APIView):
    @extend_schema(
        tags=TAG, operation_id="dialogues_plan", request=shapes.PlanInput, responses={201: shapes.PlanMade}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add dialogues to be written."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        made = plan_dialogues(
            project=project, actor=person(request), **validated_input(shapes.PlanInput, request)
        )
        return Response({"made": made}, status=status.HTTP_201_CREATED)


urlpatterns = [
    path("projects/<slug:slug>/assignments/", AssignmentsView.as_view()),
    path("projects/<slug:slug>/plan/", PlanView.as_view()),
    path("assignments/<int:pk>/", AssignmentView.as_view()),
    path("assignments/<int:pk>/draft/", DraftView.as_view()),
    path("assignments/<int:pk>/turns/", TurnsView.as_view()),
    path("assignments/<int:pk>/undo/", UndoView.as_view()),
    path("assignments/<int:pk>/candidates/", CandidatesView.as_view()),
    path("assignments/<int:pk>/ahead/", AheadView.as_view()),
    path("assignments/<int:pk>/reset/", ResetView.as_view()),
    path("assignments/<int:pk>/restore/", RestoreView.as_view()),
    action(
        "finish",
        completion.finish_dialogue,
        "Hand the dialogue in. Code: too_short (rounds, needed).",
        tells_today=True,
    ),
    action(
        "take-back",
        completion.take_back_dialogue,
        "Open a finished dialogue again. Code: under_review.",
        tells_today=True,
    ),
    action("save", holding.save_for_later, "Keep the dialogue for some days."),
    action("resume", holding.resume, "Take saved, expired or given-back work up again. Code: lease_gone."),
    action("renew", holding.renew_lease, "Renew the lease while the person is active."),
    action("release", holding.release, "Give the task back.", takes_reason=True),
]
