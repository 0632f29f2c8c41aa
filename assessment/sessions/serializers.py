"""Runs and their participants in the REST API."""

from typing import Any

from rest_framework import serializers

from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.models.runs import Run
from assessment.sessions.selectors.runs import RunProgress, WritingLog, minutes_of
from assessment.sessions.services.links import MAX_LENGTH
from assessment.sessions.services.runs import MAX_PLACES
from assessment.setup.models import TopicMode
from common.rest.serializers import StrictSerializer

MAX_LINKS = 1_000


class RunInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first run.")
    places = serializers.IntegerField(min_value=0, max_value=MAX_PLACES, help_text="Participants wanted.")
    topic_mode = serializers.ChoiceField(choices=TopicMode.choices, default=TopicMode.FREE)


class OpeningInput(StrictSerializer):
    accepts_unproven = serializers.BooleanField(
        default=False, help_text="Open although some systems failed their last check, or were never checked."
    )


class PlacesInput(StrictSerializer):
    places = serializers.IntegerField(min_value=0, max_value=MAX_PLACES)


class LinksInput(StrictSerializer):
    participants = serializers.ListField(
        child=serializers.CharField(max_length=MAX_LENGTH), min_length=1, max_length=MAX_LINKS
    )


class RunSerializer(serializers.ModelSerializer[Run]):
    class Meta:
        model = Run
        fields = ["number", "state", "topic_mode", "places", "open_places", "created_at"]


class SystemProgressSerializer(serializers.Serializer[Any]):
    system = serializers.CharField()
    degraded = serializers.BooleanField()
    rated = serializers.IntegerField(help_text="Sessions.")
    open = serializers.IntegerField()
    voided = serializers.IntegerField()


class RunWithProgressSerializer(RunSerializer):
    join_address = serializers.CharField(help_text="For panels that fill in the parameters.")
    participants = serializers.DictField(child=serializers.IntegerField(), help_text="By state.")
    systems = SystemProgressSerializer(many=True)

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "join_address", "participants", "systems"]


class LinkSerializer(serializers.Serializer[Any]):
    participant = serializers.CharField()
    address = serializers.CharField()


class LinksSerializer(serializers.Serializer[Any]):
    links = LinkSerializer(many=True)


class ParticipantFilters(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=AssignmentState.choices, required=False)


class ParticipantSerializer(serializers.Serializer[Any]):
    participant = serializers.IntegerField()
    panel_id = serializers.CharField(allow_null=True)
    member = serializers.CharField(allow_null=True, help_text="Sign-in name of a project member.")
    state = serializers.ChoiceField(choices=AssignmentState.choices)
    code = serializers.CharField(help_text="The completion code of this outcome.")
    minutes = serializers.FloatField(allow_null=True, help_text="From consent to end.")
    rated = serializers.IntegerField(help_text="Conversations.")
    voided = serializers.IntegerField()
    inputs = serializers.IntegerField()
    pasted = serializers.IntegerField(help_text="Inputs with pasted text.")
    left_page = serializers.IntegerField(help_text="Times.")
    repeated = serializers.IntegerField(help_text="Inputs equal to an earlier one of the same conversation.")
    copied = serializers.IntegerField(help_text="Inputs equal to an earlier reply.")
    feedback = serializers.CharField()
    consented_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


def serialize_run(run: Run, progress: RunProgress, join_address: str) -> dict[str, Any]:
    systems = [
        {
            "system": row.system.name,
            "degraded": row.system.is_degraded,
            "rated": row.rated,
            "open": row.open,
            "voided": row.voided,
        }
        for row in progress.systems
    ]
    participants = {state.value: count for state, count in progress.participants.items()}
    return {
        **RunSerializer(run).data,
        "join_address": join_address,
        "participants": participants,
        "systems": systems,
    }


def serialize_participant(assignment: Assignment, log: WritingLog, code: str) -> dict[str, Any]:
    participant = assignment.participant
    return {
        "participant": participant.pk,
        "panel_id": participant.panel_id,
        "member": participant.user.username if participant.user else None,
        "state": assignment.state,
        "code": code,
        "minutes": minutes_of(assignment),
        "rated": log.rated,
        "voided": log.voided,
        "inputs": log.inputs,
        "pasted": log.pasted,
        "left_page": log.left_page,
        "repeated": log.repeated,
        "copied": log.copied,
        "feedback": assignment.feedback,
        "consented_at": assignment.consented_at,
        "ended_at": assignment.ended_at,
    }
