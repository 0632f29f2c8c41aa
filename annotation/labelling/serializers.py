"""Shapes of the REST API of labelling. Output shapes are built from rows by `of_…` functions."""

import json
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Stage, Submission
from annotation.labelling.selectors.workbench import (
    confirmation_for,
    is_decided,
    live_submission,
    seconds_left,
    utterances_in,
)
from annotation.labelling.services.submissions import MAX_NOTE
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from annotation.tasks.serializers import A_DAY_MS, TodaySerializer, TraceEntry
from common.rest.serializers import StrictSerializer

PAGES = [(one.value, one.label) for one in (Stage.LABEL, Stage.CONFIRMATION)]
BIGGEST_VERSION = 2**31 - 1
BIGGEST_ANSWERS = 2 * 1024**2  # characters of JSON; 2,000 utterances with long answers need a tenth


class AnswersField(serializers.JSONField):
    """{"dialogue": {question: value}, "utterances": {"0": {question: value}}}; the service checks it."""

    def to_internal_value(self, data: Any) -> Any:
        answers = super().to_internal_value(data)
        if not isinstance(answers, dict):
            raise serializers.ValidationError(_("Answers are an object with “dialogue” and “utterances”."))
        if len(json.dumps(answers)) > BIGGEST_ANSWERS:
            raise serializers.ValidationError(_("These answers are too large."))
        return answers


class LabelClaimInput(StrictSerializer):
    claim_id = serializers.UUIDField(help_text="Made by the client; a second send returns the first claim.")
    ahead = serializers.BooleanField(
        required=False, default=False, help_text="Fetched while another is worked on; its time begins later."
    )


class LabelDraftInput(StrictSerializer):
    answers = AnswersField()
    note = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, max_length=MAX_NOTE)
    version = serializers.IntegerField(
        min_value=0, max_value=BIGGEST_VERSION, help_text="The version that the page last saw."
    )


class SubmissionInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the stored submission.")
    schema = serializers.IntegerField(
        min_value=1, max_value=BIGGEST_VERSION, help_text="The version of the questions that is answered."
    )
    answers = AnswersField()
    note = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, max_length=MAX_NOTE)
    active_ms = serializers.IntegerField(required=False, min_value=0, max_value=A_DAY_MS)
    idle_ms = serializers.IntegerField(required=False, min_value=0, max_value=A_DAY_MS * 30)
    waited_ms = serializers.IntegerField(
        required=False, min_value=0, max_value=A_DAY_MS * 30, help_text="How long it could not be sent."
    )
    trace = serializers.ListField(child=TraceEntry(), required=False, max_length=500)
    next_claim = serializers.UUIDField(
        required=False, help_text="Claim one more dialogue ahead with this claim_id, in the same request."
    )


class SkipInput(StrictSerializer):
    reason = serializers.CharField(max_length=MAX_NOTE)
    next_claim = serializers.UUIDField(required=False)


class DecisionInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send changes nothing.")
    answers = AnswersField()
    reason = serializers.CharField(max_length=MAX_NOTE)
    replaces = serializers.IntegerField(
        required=False, help_text="To decide anew: the id of the decided label that you know."
    )


class LabelUtteranceSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    speaker = serializers.CharField()
    text = serializers.CharField()
    time = serializers.CharField(allow_blank=True)


class LabelDialogue(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    language = serializers.CharField(allow_blank=True)
    domain = serializers.CharField(allow_blank=True)
    utterances = LabelUtteranceSerializer(many=True)


class LabelDraftSerializer(serializers.Serializer[Any]):
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)
    version = serializers.IntegerField()
    saved_at = serializers.DateTimeField()


class DraftSaved(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    saved_at = serializers.DateTimeField()


class OwnSubmission(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    revision = serializers.IntegerField()
    schema = serializers.IntegerField()
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)
    stored_at = serializers.DateTimeField()


class OtherAnswers(serializers.Serializer[Any]):
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)


class LabelAssignmentShort(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    project = serializers.CharField()
    state = serializers.ChoiceField(choices=AssignmentState.choices)
    lease_until = serializers.DateTimeField()
    touched_at = serializers.DateTimeField()
    task_state = serializers.ChoiceField(choices=TaskState.choices)
    stage = serializers.ChoiceField(choices=PAGES, help_text="What the person is asked for.")


class LabellingAssignment(LabelAssignmentShort):
    served_at = serializers.DateTimeField(allow_null=True)
    seconds_left = serializers.FloatField(help_text="Until it may be sent.")
    min_seconds = serializers.IntegerField()
    schema = serializers.IntegerField(allow_null=True, help_text="The version of the questions.")
    dialogue = LabelDialogue()
    draft = LabelDraftSerializer(allow_null=True)
    submission = OwnSubmission(allow_null=True)
    is_decided = serializers.BooleanField(help_text="A trainer has: what was sent is not changed any more.")
    others = OtherAnswers(many=True, help_text="While you confirm: what the others answered, nameless.")
    differences = serializers.ListField(child=serializers.CharField())


class StoredSubmission(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    revision = serializers.IntegerField()
    stage = serializers.ChoiceField(choices=Stage.choices)
    stored_at = serializers.DateTimeField()


class NothingSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    remedy = serializers.CharField(allow_blank=True)
    details = serializers.DictField()


class LabelsStored(serializers.Serializer[Any]):
    submission = StoredSubmission()
    task_state = serializers.ChoiceField(choices=TaskState.choices)
    assignment = LabelAssignmentShort()
    next = LabellingAssignment(allow_null=True)
    nothing = NothingSerializer(allow_null=True, help_text="Why nothing came next.")
    today = TodaySerializer()


class Skipped(serializers.Serializer[Any]):
    assignment = LabelAssignmentShort()
    next = LabellingAssignment(allow_null=True)
    nothing = NothingSerializer(allow_null=True)


class MineSerializer(serializers.Serializer[Any]):
    assignment = serializers.IntegerField()
    dialogue = serializers.IntegerField()
    revision = serializers.IntegerField()
    stage = serializers.ChoiceField(choices=Stage.choices)
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)
    stored_at = serializers.DateTimeField()
    task_state = serializers.ChoiceField(choices=TaskState.choices)
    final = serializers.JSONField(
        allow_null=True, help_text="The dialogue's final answers, where it has them."
    )
    origin = serializers.ChoiceField(choices=LabelOrigin.choices, allow_blank=True)


class DisputeShort(serializers.Serializer[Any]):
    task = serializers.IntegerField()
    dialogue = serializers.IntegerField()
    disagreement = serializers.FloatField(allow_null=True)
    utterance_count = serializers.IntegerField()


class AnsweredSerializer(serializers.Serializer[Any]):
    annotator = serializers.CharField()
    schema = serializers.IntegerField()
    stage = serializers.ChoiceField(choices=Stage.choices)
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)


class FinalSerializer(serializers.ModelSerializer[FinalLabel]):
    schema = serializers.IntegerField(source="schema.version")
    decided_by = serializers.CharField(source="decided_by.username", allow_null=True, default=None)

    class Meta:
        model = FinalLabel
        fields = [
            "id", "schema", "answers", "origin", "undecided", "decided_by", "reason", "decided_at", "superseded_at",
        ]  # fmt: skip


class DisputeFull(DisputeShort):
    state = serializers.ChoiceField(choices=TaskState.choices)
    utterances = LabelUtteranceSerializer(many=True)
    answers = AnsweredSerializer(many=True)
    history = FinalSerializer(many=True)


def requested_stage(row: Assignment) -> str:
    confirms = row.task.state == TaskState.CONFIRMING and row.state == AssignmentState.SUBMITTED
    return Stage.CONFIRMATION if confirms else Stage.LABEL


def serialize_assignment_summary(row: Assignment) -> dict[str, Any]:
    return {
        "id": row.pk,
        "project": row.project.slug,
        "state": row.state,
        "lease_until": row.lease_until,
        "touched_at": row.touched_at,
        "task_state": row.task.state,
        "stage": requested_stage(row),
    }


def serialize_assignment(row: Assignment) -> dict[str, Any]:
    """Everything that the workbench needs to show the dialogue."""
    settings, draft = row.project.labelling, getattr(row, "label_draft", None)
    is_sent = row.state == AssignmentState.SUBMITTED
    submission = live_submission(row) if is_sent else None
    confirmation = confirmation_for(row)
    return {
        **serialize_assignment_summary(row),
        "served_at": row.served_at,
        "seconds_left": seconds_left(row),
        "min_seconds": settings.min_seconds,
        "schema": settings.schema.version if settings.schema else None,
        "dialogue": {
            "id": row.dialogue_id,
            "language": row.dialogue.language,
            "domain": row.dialogue.domain,
            "utterances": utterances_in(row.dialogue_id),
        },
        "draft": draft
        and {
            "answers": draft.answers,
            "note": draft.note,
            "version": draft.version,
            "saved_at": draft.saved_at,
        },
        "submission": submission and serialize_own_submission(submission),
        "is_decided": is_sent and is_decided(row.task),
        "others": confirmation.others,
        "differences": confirmation.differences,
    }


def serialize_own_submission(submission: Submission) -> dict[str, Any]:
    return {
        "id": submission.pk,
        "revision": submission.revision,
        "schema": submission.schema.version,
        "answers": submission.answers,
        "note": submission.note,
        "stored_at": submission.stored_at,
    }


def serialize_stored_submission(submission: Submission) -> dict[str, Any]:
    return {
        "id": submission.pk,
        "revision": submission.revision,
        "stage": submission.stage,
        "stored_at": submission.stored_at,
    }


def serialize_submission_with_outcome(submission: Submission) -> dict[str, Any]:
    finals: list[FinalLabel] = submission.task.live_finals  # type: ignore[attr-defined]  # prefetched
    final = finals[0] if finals else None
    return {
        "assignment": submission.assignment_id,
        "dialogue": submission.task.dialogue_id,
        "revision": submission.revision,
        "stage": submission.stage,
        "answers": submission.answers,
        "note": submission.note,
        "stored_at": submission.stored_at,
        "task_state": submission.task.state,
        "final": final.answers if final else None,
        "origin": final.origin if final else "",
    }


def serialize_dispute(task: Task) -> dict[str, Any]:
    return {
        "task": task.pk,
        "dialogue": task.dialogue_id,
        "disagreement": task.disagreement,
        "utterance_count": task.dialogue.utterance_count if task.dialogue else 0,
    }


def serialize_person_answers(submission: Submission) -> dict[str, Any]:
    return {
        "annotator": submission.annotator.username,
        "schema": submission.schema.version,
        "stage": submission.stage,
        "answers": submission.answers,
        "note": submission.note,
    }
