"""REST API of threads and of the admission test as an annotator takes it."""

from typing import Any
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope, User
from accounts.rest.person import person
from annotation.labelling.selectors.workbench import utterances_by_dialogue
from annotation.labelling.serializers import AnswersField
from annotation.onboarding.models import (
    AdmissionItem,
    AdmissionTry,
    MessageKind,
    Thread,
    ThreadState,
    TryState,
)
from annotation.onboarding.selectors import admission as tests
from annotation.onboarding.selectors import threads as selectors
from annotation.onboarding.services import admission, threads
from annotation.onboarding.services.threads import MAX_TEXT
from annotation.tasks.serializers import BIGGEST_ID
from common.rest.pagination import CursorPagination
from common.rest.serializers import StrictSerializer, validated_input, validated_query
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

THREADS, ADMISSION = ["Threads"], ["Admission test"]


class ThreadInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored thread.")
    dialogue = serializers.IntegerField(min_value=1, max_value=BIGGEST_ID)
    position = serializers.IntegerField(
        required=False, min_value=0, max_value=100_000, help_text="Of the utterance that it is about."
    )
    text = serializers.CharField(max_length=MAX_TEXT)


class MessageInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send stores nothing more.")
    kind = serializers.ChoiceField(choices=MessageKind.choices)
    text = serializers.CharField(max_length=MAX_TEXT)
    faq = serializers.BooleanField(
        required=False, default=False, help_text="Show a decision in the guidelines."
    )


class ThreadFilters(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=ThreadState.choices, required=False)


class MessageShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=MessageKind.choices)
    by = serializers.CharField(help_text="A name, or only the role for annotators.")
    is_own = serializers.BooleanField()
    text = serializers.CharField()
    written_at = serializers.DateTimeField()


class ThreadShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    dialogue = serializers.IntegerField()
    position = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(choices=ThreadState.choices)
    is_faq = serializers.BooleanField()
    moved_at = serializers.DateTimeField()
    messages = MessageShape(many=True)


class NewestThreads(CursorPagination):
    ordering = ("-moved_at", "-pk")


def of_threads(user: User, project: Project, rows: list[Thread]) -> list[dict[str, Any]]:
    said = selectors.messages_of(user, rows, names=selectors.sees_all(user, project))
    return [
        {
            "id": row.pk,
            "dialogue": row.dialogue_id,
            "position": row.position,
            "state": row.state,
            "is_faq": row.is_faq,
            "moved_at": row.moved_at,
            "messages": MessageShape(said[row.pk], many=True).data,
        }
        for row in rows
    ]


class ThreadsView(APIView):
    pagination_class = NewestThreads
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=THREADS,
        operation_id="threads_list",
        parameters=[ThreadFilters],
        responses=ThreadShape(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """The threads that you may read; annotators: those on dialogues that they hold or labelled, nameless."""
        user, project = person(request), project_for(person(request), slug)
        rows = selectors.threads_of(user, project, **validated_query(ThreadFilters, request))
        pages = self.pagination_class()
        page = pages.paginate_queryset(rows, request, view=self) or []
        return pages.get_paginated_response(of_threads(user, project, page))

    @extend_schema(
        tags=THREADS, operation_id="threads_ask", request=ThreadInput, responses={201: ThreadShape}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Ask about a dialogue, or one of its utterances."""
        user, project = person(request), project_for(person(request), slug)
        sent = validated_input(ThreadInput, request)
        row = threads.ask(
            asker=user,
            project=project,
            dialogue_id=sent["dialogue"],
            thread_id=sent["id"],
            text=sent["text"],
            position=sent.get("position"),
        )
        return Response(of_threads(user, project, [row])[0], status=status.HTTP_201_CREATED)


class MessagesView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=THREADS, operation_id="threads_reply", request=MessageInput, responses={201: ThreadShape}
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Answer, ask further (which reopens), or decide (trainers)."""
        sent = validated_input(MessageInput, request)
        row = threads.reply(author=person(request), thread_id=pk, message_id=sent.pop("id"), **sent)
        return Response(of_threads(person(request), row.project, [row])[0], status=status.HTTP_201_CREATED)


class TryInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first try.")


class TryAnswersInput(StrictSerializer):
    answers = AnswersField()


class TryItem(serializers.Serializer[Any]):
    place = serializers.IntegerField()
    schema = serializers.IntegerField(help_text="The version of the questions.")
    utterances = serializers.ListField(child=serializers.DictField())
    answered = serializers.BooleanField()
    answers = AnswersField(allow_null=True)
    right = AnswersField(allow_null=True, help_text="The right answers, once they are shown.")
    wrong = serializers.ListField(child=serializers.CharField(), allow_null=True)
    explanation = serializers.CharField(allow_null=True)


class TryShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=TryState.choices)
    percent = serializers.FloatField(allow_null=True)
    tries_left = serializers.IntegerField()
    items = TryItem(many=True)


def of_try(row: AdmissionTry) -> dict[str, Any]:
    test, items = tests.test_of(row.project), list(tests.items_of(row))
    said = utterances_by_dialogue(item.gold.dialogue_id for item in items)
    return {
        "id": row.pk,
        "state": row.state,
        "percent": row.percent,
        "tries_left": tests.standing_of(row.annotator, row.project).left,
        "items": [
            of_item(item, said[item.gold.dialogue_id], is_told=tests.is_told(row, item, test))
            for item in items
        ],
    }


def of_item(item: AdmissionItem, utterances: list[dict[str, Any]], *, is_told: bool) -> dict[str, Any]:
    """Right answers are in it only when the person may see them."""
    return {
        "place": item.place,
        "schema": item.gold.schema.version,
        "utterances": utterances,
        "answered": item.answered_at is not None,
        "answers": item.answers,
        "right": item.gold_answers if is_told else None,
        "wrong": item.wrong if is_told else None,
        "explanation": item.gold.explanation if is_told else None,
    }


class TriesView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=ADMISSION, operation_id="admission_begin", request=TryInput, responses={201: TryShape}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Begin a try, or go on with the running one. Codes: not_tested, admitted, no_tries."""
        user = person(request)
        project = project_for(user, slug, Capability.ANNOTATE)
        row = admission.start_try(
            annotator=user, project=project, try_id=validated_input(TryInput, request)["id"]
        )
        return Response(of_try(row), status=status.HTTP_201_CREATED)


class TryView(APIView):
    @extend_schema(tags=ADMISSION, operation_id="admission_read", responses=TryShape)
    def get(self, request: Request, pk: UUID) -> Response:
        """Your own try; right answers come after yours."""
        return Response(of_try(tests.try_for(person(request), pk)))


class TryAnswerView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=ADMISSION, operation_id="admission_answer", request=TryAnswersInput, responses=TryShape
    )
    def post(self, request: Request, pk: UUID, place: int) -> Response:
        """Answer one dialogue; the first answers stay. Codes: invalid (with `problems`), try_over."""
        sent = validated_input(TryAnswersInput, request)
        admission.answer_item(annotator=person(request), try_id=pk, place=place, answers=sent["answers"])
        return Response(of_try(tests.try_for(person(request), pk)))


urlpatterns = [
    path("projects/<slug:slug>/threads/", ThreadsView.as_view(), name="api_threads"),
    path("threads/<uuid:pk>/messages/", MessagesView.as_view(), name="api_messages"),
    path("projects/<slug:slug>/admission/", TriesView.as_view(), name="api_admission"),
    path("admission/<uuid:pk>/", TryView.as_view(), name="api_admission_try"),
    path("admission/<uuid:pk>/<int:place>/", TryAnswerView.as_view(), name="api_admission_answer"),
]
