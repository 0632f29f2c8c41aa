"""REST API of a project's topics, the topics of dialogues, and the runs that tag them."""

from dataclasses import asdict
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.serializers import validated_input
from dialogues.selectors import dialogue_for
from dialogues.serializers import DialogueSerializer
from preference.topics.selectors import categories_of, count_topics, tagging_run_for, tagging_runs_of
from preference.topics.serializers import (
    CategoriesSerializer,
    TaggingInput,
    TaggingRunSerializer,
    TopicCountsSerializer,
    TopicInput,
)
from preference.topics.services.categories import choose_topic, set_categories
from preference.topics.services.tagging import start_tagging, undo_tagging
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Topics"]


class TopicsView(APIView):
    @extend_schema(tags=TAG, operation_id="topics_read", responses=CategoriesSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The topics that a dialogue of the project can have."""
        project = project_for(person(request), slug, Capability.READ_DIALOGUES)
        return Response({"categories": list(map(asdict, categories_of(project)))})

    @extend_schema(
        tags=TAG, operation_id="topics_set", request=CategoriesSerializer, responses=CategoriesSerializer
    )
    def put(self, request: Request, slug: str) -> Response:
        """Replace the topics. Dialogues keep a topic that is no longer in the list. Code: invalid (categories)."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        values = validated_input(CategoriesSerializer, request)
        categories = set_categories(project=project, actor=person(request), **values)
        return Response({"categories": list(map(asdict, categories))})


class TopicCountsView(APIView):
    @extend_schema(tags=TAG, operation_id="topics_counts", responses=TopicCountsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Finished dialogues by topic, language and what chose the topic."""
        project = project_for(person(request), slug, Capability.READ_STATISTICS)
        return Response(TopicCountsSerializer({"counts": count_topics(project)}).data)


class DialogueTopicView(APIView):
    @extend_schema(
        tags=TAG, operation_id="dialogues_set_topic", request=TopicInput, responses=DialogueSerializer
    )
    def put(self, request: Request, pk: int) -> Response:
        """Set the topic of a dialogue; machines do not replace it. Code: invalid (topic)."""
        user = person(request)
        dialogue = dialogue_for(user, pk)
        project_for(user, dialogue.project.slug, Capability.CONFIGURE)
        values = validated_input(TopicInput, request)
        return Response(DialogueSerializer(choose_topic(dialogue=dialogue, actor=user, **values)).data)


class TaggingRunsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="tagging_runs_list", responses=TaggingRunSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's tagging runs, newest first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return paginated_response(self, request, tagging_runs_of(project), TaggingRunSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="tagging_runs_start",
        request=TaggingInput,
        responses={202: TaggingRunSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Tag the finished dialogues that have no topic; poll its `state`. Cancel or retry it as the job with its id.

        Topics of people and of imported files stay. Codes: invalid (tagger, model, settings), not_found (model),
        not_allowed (key of a server), wrong_kind (model), nothing_to_tag, files_gone, id_in_use.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        values = validated_input(TaggingInput, request)
        run = start_tagging(run_id=values.pop("id"), project=project, actor=user, **values)
        body = TaggingRunSerializer(tagging_run_for(user, run.pk)).data
        return Response(body, status=status.HTTP_202_ACCEPTED)


class TaggingRunView(APIView):
    @extend_schema(tags=TAG, operation_id="tagging_runs_read", responses=TaggingRunSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State, how many dialogues were tagged, and why others were not."""
        return Response(TaggingRunSerializer(tagging_run_for(person(request), pk)).data)


class UndoTaggingView(APIView):
    @extend_schema(tags=TAG, operation_id="tagging_runs_undo", request=None, responses=TaggingRunSerializer)
    def post(self, request: Request, pk: UUID) -> Response:
        """Remove the topics that the run set and nobody has changed since. Code: not_finished."""
        user = person(request)
        run = undo_tagging(run=tagging_run_for(user, pk), actor=user)
        return Response(TaggingRunSerializer(run).data)


urlpatterns = [
    path("projects/<slug:slug>/topics/", TopicsView.as_view()),
    path("projects/<slug:slug>/topics/counts/", TopicCountsView.as_view()),
    path("projects/<slug:slug>/tagging-runs/", TaggingRunsView.as_view()),
    path("dialogues/<int:pk>/topic/", DialogueTopicView.as_view()),
    path("tagging-runs/<uuid:pk>/", TaggingRunView.as_view()),
    path("tagging-runs/<uuid:pk>/undo/", UndoTaggingView.as_view()),
]
