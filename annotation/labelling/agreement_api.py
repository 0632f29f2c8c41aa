"""REST API of agreement between people, and of the nugget-based scores (UCH) of helpdesk dialogues."""

import math
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.labelling.selectors.agreement import agreement_by_question
from annotation.labelling.selectors.helpdesk import (
    labelled_dialogues,
    longest_dialogue_length,
    nugget_collection,
    scores_by_dialogue,
)
from annotation.labelling.selectors.statistics import check_labelling_protocol, latest_statistics
from common.rest.pagination import CursorPagination
from measures.helpdesk import ALPHA
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Statistics"]
MAX_PATIENCE = 10_000_000  # characters


NUMBER = {"type": "number", "nullable": True}
ESTIMATE: dict[str, Any] = {
    "type": "object",
    "description": "Value with its 95 % interval, over n items that at least two people answered. Null: undefined.",
    "properties": {"value": NUMBER, "low": NUMBER, "high": NUMBER, "n": {"type": "integer"}},
    "required": ["value", "low", "high", "n"],
}
MEASURES = {"type": "object", "additionalProperties": ESTIMATE}


class AgreementView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="agreement_read",
        responses={200: {"type": "object", "additionalProperties": MEASURES}},
    )
    def get(self, request: Request, slug: str) -> Response:
        """{question: {measure: estimate}}, like `manage.py agreement --json`; takes seconds in a large project."""
        project = project_for(person(request), slug, Capability.READ_STATISTICS)
        check_labelling_protocol(project)
        latest = latest_statistics(project)
        if latest.row and latest.is_current:
            return Response(
                {question["name"]: question["measures"] for question in latest.row.numbers["questions"]}
            )
        return Response(agreement_by_question(project))


class FiniteField(serializers.FloatField):
    def to_internal_value(self, data: Any) -> float:
        value: float = super().to_internal_value(data)
        if not math.isfinite(value):
            self.fail("invalid")
        return value


class UCHQuery(serializers.Serializer[Any]):
    patience = FiniteField(
        required=False,
        min_value=1e-6,
        max_value=MAX_PATIENCE,
        help_text="L; defaults to the length of the longest dialogue.",
    )
    alpha = FiniteField(required=False, default=ALPHA, min_value=0, max_value=1)
    position = serializers.ChoiceField(choices=["start", "end"], required=False, default="start")


class AnnotatorUCHSerializer(serializers.Serializer[Any]):
    annotator = serializers.CharField()
    uc = serializers.FloatField()
    uh = serializers.FloatField()
    uch = serializers.FloatField()


class DialogueUCHSerializer(serializers.Serializer[Any]):
    """spare_goals: goal nuggets after a side's first, which add nothing."""

    id = serializers.CharField()
    auch = serializers.FloatField(allow_null=True)
    cuch = serializers.FloatField(allow_null=True)
    spare_goals = serializers.IntegerField()
    annotators = AnnotatorUCHSerializer(many=True)


class UCHSerializer(serializers.Serializer[Any]):
    L = serializers.FloatField()
    alpha = serializers.FloatField()
    position = serializers.ChoiceField(choices=["start", "end"])
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    dialogues = DialogueUCHSerializer(many=True)


class UCHView(APIView):
    @extend_schema(tags=TAG, operation_id="uch_read", parameters=[UCHQuery], responses=UCHSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """A page of `manage.py uch --json`, in the order of the dialogues. Code: invalid (no nugget types)."""
        project = project_for(person(request), slug, Capability.READ_STATISTICS)
        check_labelling_protocol(project)
        query = UCHQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        parameters = query.validated_data
        pages = CursorPagination()
        page = pages.paginate_queryset(labelled_dialogues(project), request, view=self) or []
        collection = nugget_collection(project, parameters["position"], [dialogue.pk for dialogue in page])
        patience = parameters.get("patience")
        scores = collection.score(
            patience=longest_dialogue_length(project) if patience is None else patience,
            alpha=parameters["alpha"],
        )
        return Response(
            {
                "L": scores.patience,
                "alpha": scores.alpha,
                "position": parameters["position"],
                "next": pages.get_next_link(),
                "previous": pages.get_previous_link(),
                "dialogues": scores_by_dialogue(collection, scores),
            }
        )


urlpatterns = [
    path("projects/<slug:slug>/agreement/", AgreementView.as_view()),
    path("projects/<slug:slug>/uch/", UCHView.as_view()),
]
