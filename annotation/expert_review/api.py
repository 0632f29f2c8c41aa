"""REST API of expert review."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.rest.person import person
from annotation.expert_review import services
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.expert_review.selectors import (
    dialogue_to_review,
    own_review,
    own_verdicts,
    utterances_to_review,
)
from annotation.expert_review.services import MAX_REASON, Remark
from annotation.tasks.serializers import BIGGEST_ID, UtteranceSerializer
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.serializers import StrictSerializer, validated_input
from dialogues.models import ReviewState
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Expert review"]


class RemarkSerializer(StrictSerializer):
    position = serializers.IntegerField(min_value=0, max_value=100_000)
    text = serializers.CharField(max_length=MAX_REASON)


class VerdictInput(StrictSerializer):
    id = serializers.UUIDField(
        help_text="The claim's id, or made by the client; a second send returns the stored verdict."
    )
    verdict = serializers.ChoiceField(choices=Verdict.choices)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=MAX_REASON)
    remarks = RemarkSerializer(many=True, required=False)


class ReviewClaimInput(StrictSerializer):
    claim_id = serializers.UUIDField(help_text="Made by the client; a second send returns the first claim.")
    skip = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=BIGGEST_ID,
        help_text="A dialogue to leave for later: its claim is given back, and those after it are offered first.",
    )


class ReviewSerializer(serializers.ModelSerializer[ExpertReview]):
    remarks = RemarkSerializer(many=True)

    class Meta:
        model = ExpertReview
        fields = ["id", "dialogue", "verdict", "reason", "remarks", "claimed_until", "decided_at"]


class ReviewDialogueSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    project = serializers.CharField()
    review_state = serializers.ChoiceField(choices=ReviewState.choices)
    utterances = UtteranceSerializer(many=True)
    review = ReviewSerializer(allow_null=True)


class ReviewStateOnlySerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    review_state = serializers.ChoiceField(choices=ReviewState.choices)


def serialize_dialogue_to_review(reviewer: User, dialogue_id: int) -> dict[str, Any]:
    dialogue = dialogue_to_review(reviewer, dialogue_id)
    review = own_review(reviewer, dialogue)
    return {
        "id": dialogue.pk,
        "project": dialogue.project.slug,
        "review_state": dialogue.review_state,
        "utterances": [{**utterance, "turn_id": None} for utterance in utterances_to_review(dialogue)],
        "review": ReviewSerializer(review).data if review else None,
    }


class ReviewsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="reviews_list", responses=ReviewSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Your own verdicts in the project."""
        project = project_for(person(request), slug, Capability.REVIEW)
        return paginated_response(self, request, own_verdicts(person(request), project), ReviewSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="reviews_claim",
        request=ReviewClaimInput,
        responses={201: ReviewDialogueSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Claim the next dialogue to read. Codes: nothing_to_review, id_in_use."""
        project = project_for(person(request), slug, Capability.REVIEW)
        sent = validated_input(ReviewClaimInput, request)
        claim = services.claim_next_review(reviewer=person(request), project=project, **sent)
        return Response(
            serialize_dialogue_to_review(person(request), claim.dialogue_id), status=status.HTTP_201_CREATED
        )


class ReviewView(APIView):
    @extend_schema(tags=TAG, operation_id="reviews_read", responses=ReviewDialogueSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """A finished dialogue to judge, with your own verdict."""
        return Response(serialize_dialogue_to_review(person(request), pk))

    @extend_schema(tags=TAG, operation_id="reviews_decide", request=VerdictInput, responses=ReviewSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Pass or veto. Codes: not_finished, id_in_use, invalid (a veto needs a reason)."""
        sent = validated_input(VerdictInput, request)
        review = services.submit_verdict(
            reviewer=person(request),
            dialogue_id=pk,
            review_id=sent["id"],
            verdict=sent["verdict"],
            reason=sent.get("reason", ""),
            remarks=[Remark(**remark) for remark in sent.get("remarks", [])],
        )
        return Response(ReviewSerializer(review).data)

    @extend_schema(tags=TAG, operation_id="reviews_withdraw", responses=ReviewStateOnlySerializer)
    def delete(self, request: Request, pk: int) -> Response:
        """Undo your own verdict, or give your claim back."""
        dialogue = services.withdraw_verdict(reviewer=person(request), dialogue_id=pk)
        return Response({"id": dialogue.pk, "review_state": dialogue.review_state})


urlpatterns = [
    path("projects/<slug:slug>/reviews/", ReviewsView.as_view()),
    path("dialogues/<int:pk>/review/", ReviewView.as_view()),
]
