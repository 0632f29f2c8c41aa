"""Threads, and the admission test as an annotator takes it."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from accounts.models import User
from annotation.labelling.selectors.workbench import utterances_by_dialogue
from annotation.labelling.serializers import AnswersField
from annotation.onboarding.models import (
    AdmissionItem,
    AdmissionTry,
    MessageKind,
    Thread,
    ThreadState,
    TryState,
)
from annotation.onboarding.selectors.admission import (
    admission_status,
    admission_test_for,
    may_see_right_answers,
    try_items,
)
from annotation.onboarding.selectors.threads import messages_by_thread, sees_thread_names
from annotation.onboarding.services.threads import MAX_TEXT
from annotation.tasks.serializers import BIGGEST_ID
from common.rest.serializers import StrictSerializer
from projects.models import Project


class ThreadInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored thread.")
    dialogue = serializers.IntegerField(min_value=1, max_value=BIGGEST_ID)
    position = serializers.IntegerField(
        required=False, min_value=0, max_value=100_000, help_text="Of the utterance that it is about."
    )
    text = serializers.CharField(max_length=MAX_TEXT)


class MessageInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send stores nothing more.")
    kind = serializers.ChoiceField(choices=MessageKind.choices)
    text = serializers.CharField(max_length=MAX_TEXT)
    faq = serializers.BooleanField(
        required=False, default=False, help_text="Show a decision in the guidelines."
    )


class ThreadFilters(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=ThreadState.choices, required=False)


class MessageSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=MessageKind.choices)
    by = serializers.CharField(help_text="A name, or only the role for annotators and controllers.")
    is_own = serializers.BooleanField()
    text = serializers.CharField()
    written_at = serializers.DateTimeField()


class ThreadSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    dialogue = serializers.IntegerField()
    position = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(choices=ThreadState.choices)
    is_faq = serializers.BooleanField()
    moved_at = serializers.DateTimeField()
    messages = MessageSerializer(many=True)


def serialize_threads(user: User, project: Project, rows: Sequence[Thread]) -> list[dict[str, Any]]:
    messages = messages_by_thread(user, rows, names=sees_thread_names(user, project))
    return [
        {
            "id": row.pk,
            "dialogue": row.dialogue_id,
            "position": row.position,
            "state": row.state,
            "is_faq": row.is_faq,
            "moved_at": row.moved_at,
            "messages": MessageSerializer(messages[row.pk], many=True).data,
        }
        for row in rows
    ]


class TryInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first try.")


class TryAnswersInput(StrictSerializer):
    answers = AnswersField()


class TryItemSerializer(serializers.Serializer[Any]):
    place = serializers.IntegerField()
    schema = serializers.IntegerField(help_text="The version of the questions.")
    utterances = serializers.ListField(child=serializers.DictField())
    answered = serializers.BooleanField()
    answers = AnswersField(allow_null=True)
    right = AnswersField(allow_null=True, help_text="The right answers, once they are shown.")
    wrong = serializers.ListField(child=serializers.CharField(), allow_null=True)
    explanation = serializers.CharField(allow_null=True)


class TrySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=TryState.choices)
    percent = serializers.FloatField(allow_null=True)
    tries_left = serializers.IntegerField()
    items = TryItemSerializer(many=True)


def serialize_try(row: AdmissionTry) -> dict[str, Any]:
    test, items = admission_test_for(row.project), list(try_items(row))
    utterances = utterances_by_dialogue(item.gold.dialogue_id for item in items)
    return {
        "id": row.pk,
        "state": row.state,
        "percent": row.percent,
        "tries_left": admission_status(row.annotator, row.project).left,
        "items": [
            _serialize_item(
                item, utterances[item.gold.dialogue_id], shows_right=may_see_right_answers(row, item, test)
            )
            for item in items
        ],
    }


def _serialize_item(
    item: AdmissionItem, utterances: list[dict[str, Any]], *, shows_right: bool
) -> dict[str, Any]:
    """shows_right: the person may see the right answers now."""
    return {
        "place": item.place,
        "schema": item.gold.schema.version,
        "utterances": utterances,
        "answered": item.answered_at is not None,
        "answers": item.answers,
        "right": item.gold_answers if shows_right else None,
        "wrong": item.wrong if shows_right else None,
        "explanation": item.gold.explanation if shows_right else None,
    }
