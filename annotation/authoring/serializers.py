"""Shapes of the REST API of annotation. Output shapes are built from rows by `of_…` functions."""

from typing import Any

from rest_framework import serializers

from annotation.authoring.models import AuthoringSettings, Draft, Turn
from annotation.authoring.selectors.workbench import latest_request, utterances_of
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
from generation.serializers import CandidateRequestSerializer as CandidateRequestSerializer


class ClaimInput(StrictSerializer):
    claim_id = serializers.UUIDField(help_text="Made by the client; a second send returns the first claim.")


class ReasonInput(StrictSerializer):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2000)


class SourceFields(StrictSerializer):
    position = serializers.IntegerField(min_value=0, max_value=100_000)
    candidate_set = serializers.IntegerField(
        allow_null=True, required=False, min_value=1, max_value=BIGGEST_ID
    )
    # The name of a field of ours; the metaclass takes it off the class, so DRF's own `source` is untouched.
    source = serializers.IntegerField(  # type: ignore[assignment]
        allow_null=True, required=False, min_value=0, max_value=100
    )


class DraftInput(SourceFields):
    text = serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=MAX_DRAFT)
    version = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="The version that the page last saw."
    )


class TurnInput(SourceFields):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored turn.")
    # The service checks the text, so that its refusals name cause and remedy.
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


class AssignmentShort(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    project = serializers.CharField()
    state = serializers.ChoiceField(choices=AssignmentState.choices)
    lease_until = serializers.DateTimeField()
    utterance_count = serializers.IntegerField()
    opening = serializers.CharField(allow_blank=True)
    touched_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    draft_version = serializers.IntegerField()


class AssignmentAndToday(AssignmentShort):
    today = TodaySerializer()


class WorkDialogue(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    utterances = UtteranceSerializer(many=True)


class AssignmentFull(AssignmentShort):
    dialogue = WorkDialogue()
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


class TurnStored(serializers.Serializer[Any]):
    turn = TurnSerializer()
    assignment = AssignmentShort()
    request = CandidateRequestSerializer(allow_null=True)


class TurnRemoved(serializers.Serializer[Any]):
    removed = serializers.UUIDField()
    text = serializers.CharField()
    position = serializers.IntegerField()
    assignment = AssignmentShort()
    request = CandidateRequestSerializer(allow_null=True)


class ResetDone(serializers.Serializer[Any]):
    turn_ids = serializers.ListField(child=serializers.UUIDField())


class PlanMade(serializers.Serializer[Any]):
    made = serializers.IntegerField()


def of_assignment(row: Assignment, opening: str | None = None) -> dict[str, Any]:
    """The short form. `opening` is passed where the first utterance was already read."""
    draft = getattr(row, "draft", None)
    return {
        "id": row.pk,
        "project": row.project.slug,
        "state": row.state,
        "lease_until": row.lease_until,
        "utterance_count": row.dialogue.utterance_count,
        "opening": opening or "",
        "touched_at": row.touched_at,
        "submitted_at": row.submitted_at,
        "draft_version": draft.version if draft else 0,
    }


def of_request(request: CandidateRequest | None) -> Any:
    return CandidateRequestSerializer(request).data if request else None


def full(row: Assignment) -> dict[str, Any]:
    utterances = utterances_of(row)
    return of_assignment(row, utterances[0]["text"][:80] if utterances else "") | {
        "dialogue": {"id": row.dialogue_id, "utterances": utterances},
        "draft": DraftSerializer(row.draft).data if hasattr(row, "draft") else None,
        "settings": SettingsSerializer(row.project.authoring).data,
        "request": of_request(latest_request(row)),
    }
