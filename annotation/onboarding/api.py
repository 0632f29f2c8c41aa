"""REST API of threads and of the admission test as an annotator takes it."""

from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope
from accounts.rest.person import person
from annotation.onboarding.selectors.admission import own_try
from annotation.onboarding.selectors.threads import visible_threads
from annotation.onboarding.serializers import (
    MessageInput,
    ThreadFilters,
    ThreadInput,
    ThreadSerializer,
    TryAnswersInput,
    TryInput,
    TrySerializer,
    serialize_threads,
    serialize_try,
)
from annotation.onboarding.services.threads import ask_question, reply_to_thread
from annotation.onboarding.services.tries import answer_item, start_try
from common.rest.pagination import CursorPagination, paginated_rows
from common.rest.serializers import validated_input, validated_query
from projects.roles import Capability
from projects.selectors import project_for

THREADS, ADMISSION = ["Threads"], ["Admission test"]


class NewestThreads(CursorPagination):
    ordering = ("-moved_at", "-pk")


class ThreadsView(APIView):
    pagination_class = NewestThreads
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=THREADS,
        operation_id="threads_list",
        parameters=[ThreadFilters],
        responses=ThreadSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """The threads that you may read; annotators: those on dialogues that they hold or labelled, without names."""
        user, project = person(request), project_for(person(request), slug)
        rows = visible_threads(user, project, **validated_query(ThreadFilters, request))
        return paginated_rows(self, request, rows, lambda page: serialize_threads(user, project, page))

    @extend_schema(
        tags=THREADS, operation_id="threads_ask", request=ThreadInput, responses={201: ThreadSerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Ask about a dialogue, or one of its utterances."""
        user, project = person(request), project_for(person(request), slug)
        sent = validated_input(ThreadInput, request)
        thread = ask_question(
            asker=user,
            project=project,
            dialogue_id=sent["dialogue"],
            thread_id=sent["id"],
            text=sent["text"],
            position=sent.get("position"),
        )
        return Response(serialize_threads(user, project, [thread])[0], status=status.HTTP_201_CREATED)


class MessagesView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=THREADS, operation_id="threads_reply", request=MessageInput, responses={201: ThreadSerializer}
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Answer, ask further (which reopens), or decide (trainers)."""
        user = person(request)
        sent = validated_input(MessageInput, request)
        thread = reply_to_thread(author=user, thread_id=pk, message_id=sent.pop("id"), **sent)
        return Response(serialize_threads(user, thread.project, [thread])[0], status=status.HTTP_201_CREATED)


class TriesView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=ADMISSION, operation_id="admission_begin", request=TryInput, responses={201: TrySerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Begin a try, or go on with the running one. Codes: not_tested, admitted, no_tries."""
        user = person(request)
        project = project_for(user, slug, Capability.ANNOTATE)
        sent = validated_input(TryInput, request)
        attempt = start_try(annotator=user, project=project, try_id=sent["id"])
        return Response(serialize_try(attempt), status=status.HTTP_201_CREATED)


class TryView(APIView):
    @extend_schema(tags=ADMISSION, operation_id="admission_read", responses=TrySerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Your own try; right answers come after yours."""
        return Response(serialize_try(own_try(person(request), pk)))


class TryAnswerView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=ADMISSION, operation_id="admission_answer", request=TryAnswersInput, responses=TrySerializer
    )
    def post(self, request: Request, pk: UUID, place: int) -> Response:
        """Answer one dialogue; the first answers stay. Codes: invalid (with `problems`), try_over."""
        user = person(request)
        sent = validated_input(TryAnswersInput, request)
        answer_item(annotator=user, try_id=pk, place=place, answers=sent["answers"])
        return Response(serialize_try(own_try(user, pk)))


urlpatterns = [
    path("projects/<slug:slug>/threads/", ThreadsView.as_view(), name="api_threads"),
    path("threads/<uuid:pk>/messages/", MessagesView.as_view(), name="api_messages"),
    path("projects/<slug:slug>/admission/", TriesView.as_view(), name="api_admission"),
    path("admission/<uuid:pk>/", TryView.as_view(), name="api_admission_try"),
    path("admission/<uuid:pk>/<int:place>/", TryAnswerView.as_view(), name="api_admission_answer"),
]
