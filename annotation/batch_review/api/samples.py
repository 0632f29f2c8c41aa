"""REST API of samples: draw one, get the next dialogues, judge them."""

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.access import round_for, sample_item_for, sample_of_round
from annotation.batch_review.serializers.samples import (
    DrawInput,
    JudgementInput,
    JudgementSerializer,
    NextFilters,
    NextItemsSerializer,
    SampleItemSerializer,
    SampleSerializer,
    serialize_item_for,
    serialize_judgement,
    serialize_next_items,
    serialize_progress_for,
    serialize_sample_for,
)
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.tasks.models.rounds import Round
from common.refusals import NotFound
from common.rest.serializers import validated_input, validated_query
from projects.roles import Capability

TAG = ["Batch review"]


def drawn_sample(row: Round) -> Sample:
    sample = sample_of_round(row)
    if sample is None:
        raise NotFound(_("No sample of this batch was drawn yet."), _("Draw a sample and judge it first."))
    return sample


class SampleView(APIView):
    @extend_schema(tags=TAG, operation_id="samples_read", responses=SampleSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """How the sample of a round was drawn, and what it says so far."""
        user = person(request)
        return Response(serialize_sample_for(user, drawn_sample(round_for(user, pk))))

    @extend_schema(
        tags=TAG, operation_id="samples_draw", request=DrawInput, responses={201: SampleSerializer}
    )
    def post(self, request: Request, pk: int) -> Response:
        """Draw the sample of a sealed round. Codes: already_drawn, not_sealed, own_work."""
        user = person(request)
        row = round_for(user, pk, Capability.REVIEW)
        sent = validated_input(DrawInput, request)
        draw_sample(controller=user, round_id=row.pk, sample_id=sent["id"])
        body = serialize_sample_for(user, drawn_sample(row))
        return Response(body, status=status.HTTP_201_CREATED)


class NextView(APIView):
    @extend_schema(
        tags=TAG, operation_id="samples_next", parameters=[NextFilters], responses=NextItemsSerializer
    )
    def get(self, request: Request, pk: int) -> Response:
        """What you judge next. Others who share the sample are given other dialogues for a while."""
        user = person(request)
        sample = drawn_sample(round_for(user, pk, Capability.REVIEW))
        count = validated_query(NextFilters, request).get("count", 1)
        return Response({"items": serialize_next_items(user, sample, count)})


class ItemView(APIView):
    @extend_schema(tags=TAG, operation_id="samples_item", responses=SampleItemSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """One drawn dialogue, with your judgement on it and, if you may see it, the label."""
        user = person(request)
        return Response(serialize_item_for(user, sample_item_for(user, pk)))


class JudgementsView(APIView):
    @extend_schema(
        tags=TAG, operation_id="samples_judge", request=JudgementInput, responses={201: JudgementSerializer}
    )
    def post(self, request: Request, pk: int) -> Response:
        """Judge a drawn dialogue, or correct your judgement.

        Codes: invalid (with `problems`), blind, judged_already, own_work, not_in_review.
        """
        user = person(request)
        item = sample_item_for(user, pk)
        sent = validated_input(JudgementInput, request)
        count, held = sent.pop("next", 0), sent.pop("held", [])
        judgement = judge(controller=user, item_id=pk, sent=SentJudgement(**sent))
        sample = drawn_sample(item.sample.round)
        body = {
            **serialize_judgement(judgement, item),
            "next": serialize_next_items(user, sample, count, held),
            **serialize_progress_for(user, sample),
        }
        return Response(body, status=status.HTTP_201_CREATED)
