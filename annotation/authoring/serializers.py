"""Serializers of the authoring API. The output of an assignment is built by `serialize_…` functions."""

from typing import Any

from rest_framework import serializers

from annotation.authoring.models import AuthoringSettings, Draft, Turn
from annotation.authoring.selectors.workbench import OPENING_LENGTH, latest_request, list_utterances
from annotation.authoring.services.drafts import MAX_DRAFT
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.serializers import (
    A_DAY_MS,
    BIGGEST_ID,
    TodaySerializer,
    TraceEntry,
    UtteranceSerializer,
)
from common.rest.serializers import StrictSerializer
from dialogues.models import Action
from generation.models import CandidateRequest
from generation.serializers import CandidateRequestSerializer


class ClaimInput(StrictSerializer):
    claim_id = serializers.UUIDField(help_text="Made by the client; a second send returns the first claim.")


class ReasonInput(StrictSerializer):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2000)


class FinishInput(StrictSerializer):
    check = serializers.BooleanField(
        required=False, help_text="Refuse with check_first if something is worth a second look."
    )


class SourceFields(StrictSerializer):
    position = serializers.IntegerField(min_value=0, max_value=100_000)
    candidate_set = serializers.IntegerField(
        allow_null=True, required=False, min_value=1, max_value=BIGGEST_ID
    )
    # The metaclass takes fields off the class, so DRF's own attribute `source` is untouched.
    source = serializers.IntegerField(  # type: ignore[assignment]
        allow_null=True, required=False, min_value=0, max_value=100
    )


class DraftInput(SourceFields):
    text = serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=MAX_DRAFT)
    version = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="The version that the page last received."
    )


class TurnInput(SourceFields):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored turn.")
    # The service checks the text, so that a refusal names cause and remedy.
    text = serializers.CharField(allow_blank=True, trim_whitespace=False)
    active_ms = serializers.IntegerField(required=False, min_value=0, max_value=A_DAY_MS, default=0)
    idle_ms = serializers.IntegerField(required=False, min_value=0, max_value=A_DAY_MS * 30, default=0)
    trace = serializers.ListField(child=TraceEntry(), required=False, max_length=500)


class UndoInput(StrictSerializer):
    turn_id = serializers.UUIDField()


class RestoreInput(StrictSerializer):
    turn_ids = serializers.ListField(child=serializers.UUIDField(), allow_empty=False, max_length=1000)


class CandidatesInput(StrictSerializer):
    ordinal = serializers.IntegerField(min_value=0, max_value=1000)


class AheadInput(StrictSerializer):
    text = serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=MAX_DRAFT)


class PlanInput(StrictSerializer):
    plan_id = serializers.UUIDField(help_text="Made by the client; a second send adds nothing.")
    count = serializers.IntegerField(min_value=1, max_value=100_000)
    priority = serializers.IntegerField(required=False, min_value=-1000, max_value=1000, default=0)


class DraftSerializer(serializers.ModelSerializer[Draft]):
    class Meta:
        model = Draft
        fields = ["position", "text", "candidate_set", "source", "version", "saved_at"]


class SettingsSerializer(serializers.ModelSerializer[AuthoringSettings]):
    class Meta:
        model = AuthoringSettings
        fields = ["candidates", "min_rounds", "new_sets_per_turn", "max_utterance_length", "generate_ahead"]


class AssignmentShortSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    project = serializers.CharField()
    state = serializers.ChoiceField(choices=AssignmentState.choices)
    lease_until = serializers.DateTimeField()
    utterance_count = serializers.IntegerField()
    opening = serializers.CharField(allow_blank=True)
    touched_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    draft_version = serializers.IntegerField()


class AssignmentAndTodaySerializer(AssignmentShortSerializer):
    today = TodaySerializer()


class WorkDialogueSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    utterances = UtteranceSerializer(many=True)


class AssignmentFullSerializer(AssignmentShortSerializer):
    dialogue = WorkDialogueSerializer()
    draft = DraftSerializer(allow_null=True)
    settings = SettingsSerializer()
    request = CandidateRequestSerializer(allow_null=True)


class TurnSerializer(serializers.ModelSerializer[Turn]):
    action = serializers.ChoiceField(choices=Action.choices, source="provenance.action")
    source = serializers.IntegerField(  # type: ignore[assignment]
        allow_null=True, source="provenance.source"
    )
    edit_distance = serializers.IntegerField(allow_null=True, source="provenance.edit_distance")

    class Meta:
        model = Turn
        fields = ["id", "position", "text", "action", "source", "edit_distance"]


class TurnStoredSerializer(serializers.Serializer[Any]):
    turn = TurnSerializer()
    assignment = AssignmentShortSerializer()
    request = CandidateRequestSerializer(allow_null=True)


class TurnRemovedSerializer(serializers.Serializer[Any]):
    removed = serializers.UUIDField()
    text = serializers.CharField()
    position = serializers.IntegerField()
    assignment = AssignmentShortSerializer()
    request = CandidateRequestSerializer(allow_null=True)


class ResetDoneSerializer(serializers.Serializer[Any]):
    turn_ids = serializers.ListField(child=serializers.UUIDField())


class PlanMadeSerializer(serializers.Serializer[Any]):
    made = serializers.IntegerField()


def serialize_assignment(assignment: Assignment, opening: str | None = None) -> dict[str, Any]:
    """The short form. opening: the first utterance, if the caller has read it."""
    draft = getattr(assignment, "draft", None)
    return {
        "id": assignment.pk,
        "project": assignment.project.slug,
        "state": assignment.state,
        "lease_until": assignment.lease_until,
        "utterance_count": assignment.dialogue.utterance_count,
        "opening": opening or "",
        "touched_at": assignment.touched_at,
        "submitted_at": assignment.submitted_at,
        "draft_version": draft.version if draft else 0,
    }


def serialize_request(request: CandidateRequest | None) -> Any:
    return CandidateRequestSerializer(request).data if request else None


def serialize_full_assignment(assignment: Assignment) -> dict[str, Any]:
    """The short form with the dialogue, the draft, the settings and the request for the next turn's candidates."""
    utterances = list_utterances(assignment)
    opening = utterances[0]["text"][:OPENING_LENGTH] if utterances else ""
    return serialize_assignment(assignment, opening) | {
        "dialogue": {"id": assignment.dialogue_id, "utterances": utterances},
        "draft": DraftSerializer(assignment.draft).data if hasattr(assignment, "draft") else None,
        "settings": SettingsSerializer(assignment.project.authoring).data,
        "request": serialize_request(latest_request(assignment)),
    }
