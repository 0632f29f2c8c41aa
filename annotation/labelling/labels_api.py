"""REST API of final labels, for programs that read them while people label."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.selectors.final_labels import final_labels_of
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import RoundState
from common.rest.pagination import Followed, paginated_response
from common.rest.serializers import validated_query
from projects.roles import Capability


class LabelFilters(serializers.Serializer[Any]):
    follow = serializers.BooleanField(
        required=False,
        help_text="For reading on from `resume`: only labels behind which none can appear any more.",
    )


class FinalLabelRowSerializer(serializers.ModelSerializer[FinalLabel]):
    dialogue = serializers.IntegerField(source="dialogue_id")
    external_id = serializers.CharField(source="dialogue.external_id")
    split = serializers.CharField(source="dialogue.split")
    schema = serializers.IntegerField(source="schema.version", help_text="The version of the questions.")
    answers = serializers.DictField(help_text="dialogue: {question: value}; utterances: {position: {…}}.")
    undecided = serializers.ListField(
        child=serializers.CharField(),
        help_text="Questions without a value; of an utterance position/question.",
    )
    machine = serializers.DictField(allow_null=True, help_text="Of a machine label: run, model, version …")
    batch = serializers.IntegerField(source="task.round.batch.number", default=None, allow_null=True)
    round = serializers.IntegerField(source="task.round.number", default=None, allow_null=True)
    review = serializers.ChoiceField(
        choices=RoundState.choices,
        source="task.round.state",
        default=None,
        allow_null=True,
        help_text="Of the round in which it is judged; only accepted ones are exported. null: no batches.",
    )

    class Meta:
        model = FinalLabel
        fields = [
            "id", "dialogue", "external_id", "split", "schema", "answers", "undecided", "origin", "machine", "batch",
            "round", "review", "decided_at",
        ]  # fmt: skip


class LabelsView(APIView):
    pagination_class = Followed

    @extend_schema(
        tags=["Labelling"],
        operation_id="labels_list",
        parameters=[LabelFilters],
        responses=FinalLabelRowSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """The final labels of a labelling project, in the order in which they came about.

        To follow the work, send `follow=true` and, as `cursor`, the last page's `resume`: every label comes once. A
        label that replaces an earlier one of its dialogue comes again, with a new id. Code: not_settled (503).
        """
        project = labelling_project(person(request), slug, Capability.EXPORT)
        settled = validated_query(LabelFilters, request).get("follow", False)
        return paginated_response(
            self, request, final_labels_of(project, settled=settled), FinalLabelRowSerializer
        )


urlpatterns = [path("projects/<slug:slug>/labels/", LabelsView.as_view())]
