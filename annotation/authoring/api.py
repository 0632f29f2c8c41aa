"""REST API of authoring: claim a dialogue, write it turn by turn, hand it in."""

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
from annotation.authoring.selectors.workbench import openings_by_dialogue
from annotation.authoring.serializers import (
    AheadInput,
    AssignmentAndTodaySerializer,
    AssignmentFullSerializer,
    AssignmentShortSerializer,
    CandidatesInput,
    ClaimInput,
    DraftInput,
    DraftSerializer,
    FinishInput,
    PlanInput,
    PlanMadeSerializer,
    ReasonInput,
    ResetDoneSerializer,
    RestoreInput,
    TurnInput,
    TurnRemovedSerializer,
    TurnSerializer,
    TurnStoredSerializer,
    UndoInput,
    serialize_assignment,
    serialize_full_assignment,
    serialize_request,
)
from annotation.authoring.services.candidates import generate_ahead, request_candidate_set
from annotation.authoring.services.completion import finish_dialogue, take_back_dialogue
from annotation.authoring.services.drafts import save_draft
from annotation.authoring.services.planning import plan_dialogues
from annotation.authoring.services.turns import (
    SentTurn,
    reset_dialogue,
    restore_turns,
    submit_turn,
    undo_turn,
)
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.selectors.assignments import assignment_for, assignments_of
from annotation.tasks.selectors.queue import today_of
from annotation.tasks.services import assignment as assignment_services
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import NotFound
from common.rest.pagination import CursorPagination, paginated_rows
from common.rest.serializers import StrictSerializer, validated_input
from generation.serializers import CandidateRequestSerializer
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Annotation"]


def authoring_project_for(user: User, slug: str) -> Project:
    """A project of the protocol `authoring` that the user can see; NotFound otherwise."""
    project = project_for(user, slug)
    if project.protocol != Protocol.AUTHORING:
        raise NotFound(
            _("“%(slug)s” is not an authoring project.") % {"slug": slug},
            _("Claim its dialogues at labelling/claim/."),
        )
    return project


def own_authoring_assignment(request: Request, pk: int) -> Assignment:
    """The caller's own assignment, if it is one of authoring; NotFound otherwise."""
    return assignment_for(person(request), pk, Protocol.AUTHORING)


def serialize_with_openings(rows: list[Assignment]) -> list[object]:
    openings = openings_by_dialogue(rows)
    return [serialize_assignment(row, openings.get(row.dialogue_id)) for row in rows]


class AssignmentsView(APIView):
    """The caller's own assignments in one project."""

    pagination_class = CursorPagination
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="assignments_list",
        parameters=[OpenApiParameter("state", enum=AssignmentState.values, many=True, explode=True)],
        responses=AssignmentShortSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        project = project_for(person(request), slug)
        states = [state for state in request.query_params.getlist("state") if state in AssignmentState.values]
        return paginated_rows(
            self, request, assignments_of(person(request), project, states), serialize_with_openings
        )

    @extend_schema(
        tags=TAG,
        operation_id="assignments_claim",
        request=ClaimInput,
        responses={201: AssignmentFullSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Claim the next task. Codes: all_done, other_languages, all_claimed (with `until`), too_many_open."""
        project = authoring_project_for(person(request), slug)
        claimed = claim_next_task(
            annotator=person(request), project=project, **validated_input(ClaimInput, request)
        )
        return Response(
            serialize_full_assignment(own_authoring_assignment(request, claimed.pk)),
            status=status.HTTP_201_CREATED,
        )


class AssignmentView(APIView):
    @extend_schema(tags=TAG, operation_id="assignments_read", responses=AssignmentFullSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Your own dialogue: its utterances, the draft, the settings, and the candidates of the next turn."""
        return Response(serialize_full_assignment(own_authoring_assignment(request, pk)))


class DraftView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(tags=TAG, operation_id="drafts_save", request=DraftInput, responses=DraftSerializer)
    def put(self, request: Request, pk: int) -> Response:
        """Store an unsent text. Codes: draft_conflict, with the newer `draft`; written_elsewhere: the turn was sent."""
        sent = {"candidate_set": None, "source": None} | validated_input(DraftInput, request)
        draft = save_draft(annotator=person(request), assignment_id=pk, **sent)
        return Response(DraftSerializer(draft).data)


class TurnsView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="turns_submit",
        request=TurnInput,
        responses={201: TurnStoredSerializer, 200: TurnStoredSerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Send an utterance. 200 if this id was stored before. Codes: id_in_use, out_of_order, written_elsewhere,
        lease_gone, not_writable, invalid."""
        sent = SentTurn(**validated_input(TurnInput, request))
        result = submit_turn(annotator=person(request), assignment_id=pk, sent=sent)
        answer = {
            "turn": TurnSerializer(result.turn).data,
            "assignment": serialize_assignment(own_authoring_assignment(request, pk)),
            "request": serialize_request(result.request),
        }
        return Response(answer, status=status.HTTP_200_OK if result.repeated else status.HTTP_201_CREATED)


class UndoView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(tags=TAG, operation_id="turns_undo", request=UndoInput, responses=TurnRemovedSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Undo the last turn. Code: not_last."""
        result = undo_turn(annotator=person(request), assignment_id=pk, **validated_input(UndoInput, request))
        answer = {
            "removed": result.turn.pk,
            "text": result.turn.text,
            "position": result.turn.position,
            "assignment": serialize_assignment(own_authoring_assignment(request, pk)),
            "request": serialize_request(result.request),
        }
        return Response(answer)


class CandidatesView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="candidates_request",
        request=CandidatesInput,
        responses=CandidateRequestSerializer,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Request candidate set number `ordinal` of the next turn. Codes: too_many_sets, opening."""
        ordinal: int = validated_input(CandidatesInput, request)["ordinal"]
        requested = request_candidate_set(annotator=person(request), assignment_id=pk, ordinal=ordinal)
        return Response(serialize_request(requested))


class AheadView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(tags=TAG, operation_id="candidates_ahead", request=AheadInput, responses={202: None})
    def post(self, request: Request, pk: int) -> Response:
        """Report a draft that has not changed for a while, so that its candidates can be generated ahead."""
        generate_ahead(annotator=person(request), assignment_id=pk, **validated_input(AheadInput, request))
        return Response(status=status.HTTP_202_ACCEPTED)


class ResetView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(tags=TAG, operation_id="assignments_reset", request=None, responses=ResetDoneSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Undo every turn. The returned ids bring them back with `restore`."""
        return Response({"turn_ids": reset_dialogue(annotator=person(request), assignment_id=pk)})


class RestoreView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG,
        operation_id="assignments_restore",
        request=RestoreInput,
        responses=AssignmentFullSerializer,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Bring back what a reset removed. Code: written_since."""
        turn_ids: list[UUID] = validated_input(RestoreInput, request)["turn_ids"]
        restore_turns(annotator=person(request), assignment_id=pk, turn_ids=turn_ids)
        return Response(serialize_full_assignment(own_authoring_assignment(request, pk)))


class AssignmentActionView(APIView):
    """Carry out one action on an assignment as a whole; the answer is its short form."""

    write_scope = Scope.ANNOTATE
    service: ClassVar[Callable[..., Assignment]]
    takes: ClassVar[type[StrictSerializer] | None] = None
    returns_today: ClassVar[bool] = False

    def carry_out(self, request: Request, pk: int) -> Response:
        sent = validated_input(self.takes, request) if self.takes else {}
        type(self).service(annotator=person(request), assignment_id=pk, **sent)
        assignment = assignment_for(person(request), pk)
        today = {"today": asdict(today_of(person(request), assignment.project))} if self.returns_today else {}
        return Response(serialize_assignment(assignment) | today)


def assignment_action_path(
    name: str,
    service: Callable[..., Assignment],
    description: str,
    *,
    takes: type[StrictSerializer] | None = None,
    returns_today: bool = False,
) -> URLPattern:
    """The address of a service function that takes annotator and assignment_id, and what `takes` reads."""

    def post(self: AssignmentActionView, request: Request, pk: int) -> Response:
        return self.carry_out(request, pk)

    documented = extend_schema(
        tags=TAG,
        operation_id=f"assignments_{name.replace('-', '_')}",
        description=description,
        request=takes,
        responses={200: AssignmentAndTodaySerializer if returns_today else AssignmentShortSerializer},
    )(post)
    members = {
        "service": staticmethod(service),
        "takes": takes,
        "returns_today": returns_today,
        "post": documented,
    }
    class_name = f"{name.title().replace('-', '')}View"
    view = cast(type[AssignmentActionView], type(class_name, (AssignmentActionView,), members))
    return path(f"assignments/<int:pk>/{name}/", view.as_view())


class PlanView(APIView):
    @extend_schema(
        tags=TAG, operation_id="dialogues_plan", request=PlanInput, responses={201: PlanMadeSerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add dialogues to be written. Code: id_in_use."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        count = plan_dialogues(project=project, actor=person(request), **validated_input(PlanInput, request))
        return Response({"made": count}, status=status.HTTP_201_CREATED)


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
    assignment_action_path(
        "finish",
        finish_dialogue,
        "Hand the dialogue in. Codes: too_short (rounds, needed), check_first (warnings).",
        takes=FinishInput,
        returns_today=True,
    ),
    assignment_action_path(
        "take-back",
        take_back_dialogue,
        "Open a finished dialogue again. Code: under_review.",
        returns_today=True,
    ),
    assignment_action_path("save", assignment_services.save_for_later, "Keep the dialogue for some days."),
    assignment_action_path(
        "resume",
        assignment_services.resume,
        "Take saved, expired or released work up again. Code: lease_gone.",
    ),
    assignment_action_path(
        "renew", assignment_services.renew_lease, "Renew the lease while the annotator is active."
    ),
    assignment_action_path("release", assignment_services.release, "Give the task back.", takes=ReasonInput),
]
