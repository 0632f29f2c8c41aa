"""Fields and serializers that several rooms share."""

import json
from typing import Any

from rest_framework import serializers

from dialogues.models import Action
from generation.serializers import CandidateRequestSerializer as CandidateRequestSerializer

BIGGEST_ID = 2**63 - 1
A_DAY_MS = 86_400_000
MAX_TRACE_ENTRY = 300  # characters of JSON


class TraceEntry(serializers.JSONField):
    """One click: {"at": ms since the turn was shown, "kind", …}."""

    def to_internal_value(self, data: Any) -> Any:
        entry = super().to_internal_value(data)
        if not isinstance(entry, dict) or len(json.dumps(entry)) > MAX_TRACE_ENTRY:
            raise serializers.ValidationError(f"An object of at most {MAX_TRACE_ENTRY} characters.")
        return entry


class UtteranceSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    speaker = serializers.CharField()
    text = serializers.CharField()
    action = serializers.ChoiceField(choices=[*Action.values, ""])
    source = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    edit_distance = serializers.IntegerField(allow_null=True)
    turn_id = serializers.UUIDField(allow_null=True)


class TodaySerializer(serializers.Serializer[Any]):
    finished = serializers.IntegerField(help_text="Dialogues that you submitted today.")
    goal = serializers.IntegerField()
