"""Serializers of the REST API of labelling. `serialize_…` functions build the output from rows."""

import json
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.labelling.models.labels import FinalLabel, LabelDraft, LabelOrigin, Stage, Submission
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
from dialogues.models import Dialogue

REQUESTED_STAGES = [(stage.value, stage.label) for stage in (Stage.LABEL, Stage.CONFIRMATION)]
MAX_VERSION = 2**31 - 1
MAX_ANSWERS_LENGTH = 2 * 1024**2  # characters of JSON; 2,000 utterances with long answers need a tenth of it


class AnswersField(serializers.JSONField):
    """{"dialogue": {question: value}, "utterances": {"0": {question: value}}}; the service checks the values."""

    def to_internal_value(self, data: Any) -> Any:
        answers = super().to_internal_value(data)
        if not isinstance(answers, dict):
            raise serializers.ValidationError(
                _("Answers must be an object with “dialogue” and “utterances”.")
            )
        if len(json.dumps(answers)) > MAX_ANSWERS_LENGTH:
            raise serializers.ValidationError(_("These answers are too large."))
        return answers


class LabelClaimInput(StrictSerializer):
    claim_id = serializers.UUIDField(
        help_text="Created by the client; sending it again returns the first claim."
    )
    ahead = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Claimed while the annotator works on another dialogue; its time starts later.",
    )


class LabelDraftInput(StrictSerializer):
    answers = AnswersField()
    note = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, max_length=MAX_NOTE)
    version = serializers.IntegerField(
        min_value=0, max_value=MAX_VERSION, help_text="The last version that the page received."
    )


class SubmissionInput(StrictSerializer):
    id = serializers.UUIDField(
        help_text="Created by the client; sending it again returns the stored submission."
    )
    schema = serializers.IntegerField(
        min_value=1, max_value=MAX_VERSION, help_text="The version of the questions that the answers are for."
    )
    answers = AnswersField()
    note = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False, max_length=MAX_NOTE)
    active_ms = serializers.IntegerField(required=False, min_value=0, max_value=A_DAY_MS)
    idle_ms = serializers.IntegerField(required=False, min_value=0, max_value=A_DAY_MS * 30)
    waited_ms = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=A_DAY_MS * 30,
        help_text="How long the client could not send it.",
    )
    trace = serializers.ListField(child=TraceEntry(), required=False, max_length=500)
    next_claim = serializers.UUIDField(
        required=False, help_text="Also claim the next dialogue ahead, with this claim_id."
    )


class SkipInput(StrictSerializer):
    reason = serializers.CharField(max_length=MAX_NOTE)
    next_claim = serializers.UUIDField(required=False)


class DecisionInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Created by the client; sending it again changes nothing.")
    answers = AnswersField()
    reason = serializers.CharField(max_length=MAX_NOTE)
    replaces = serializers.IntegerField(
        required=False, help_text="To change a decision: the id of the decided label that you have seen."
    )


class LabelUtteranceSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    speaker = serializers.CharField()
    text = serializers.CharField()
    time = serializers.CharField(allow_blank=True)


class LabelDialogueSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    language = serializers.CharField(allow_blank=True)
    domain = serializers.CharField(allow_blank=True)
    utterances = LabelUtteranceSerializer(many=True)


class LabelDraftSerializer(serializers.Serializer[Any]):
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)
    version = serializers.IntegerField()
    saved_at = serializers.DateTimeField()


class DraftSavedSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    saved_at = serializers.DateTimeField()


class OwnSubmissionSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    revision = serializers.IntegerField()
    schema = serializers.IntegerField()
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)
    stored_at = serializers.DateTimeField()


class OtherAnswersSerializer(serializers.Serializer[Any]):
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)


class LabelAssignmentShortSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    project = serializers.CharField()
    state = serializers.ChoiceField(choices=AssignmentState.choices)
    lease_until = serializers.DateTimeField()
    touched_at = serializers.DateTimeField()
    task_state = serializers.ChoiceField(choices=TaskState.choices)
    stage = serializers.ChoiceField(choices=REQUESTED_STAGES, help_text="What the annotator is asked for.")


class LabellingAssignmentSerializer(LabelAssignmentShortSerializer):
    served_at = serializers.DateTimeField(allow_null=True)
    seconds_left = serializers.FloatField(help_text="Seconds until answers are accepted.")
    min_seconds = serializers.IntegerField()
    schema = serializers.IntegerField(allow_null=True, help_text="The version of the questions.")
    dialogue = LabelDialogueSerializer()
    draft = LabelDraftSerializer(allow_null=True)
    submission = OwnSubmissionSerializer(allow_null=True)
    is_decided = serializers.BooleanField(
        help_text="Whether a trainer has decided: submissions can no longer change."
    )
    others = OtherAnswersSerializer(
        many=True, help_text="During confirmation: the other people's answers, without names."
    )
    differences = serializers.ListField(child=serializers.CharField())


class StoredSubmissionSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    revision = serializers.IntegerField()
    stage = serializers.ChoiceField(choices=Stage.choices)
    stored_at = serializers.DateTimeField()


class NothingNextSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    remedy = serializers.CharField(allow_blank=True)
    details = serializers.DictField()


class LabelsStoredSerializer(serializers.Serializer[Any]):
    submission = StoredSubmissionSerializer()
    task_state = serializers.ChoiceField(choices=TaskState.choices)
    assignment = LabelAssignmentShortSerializer()
    next = LabellingAssignmentSerializer(allow_null=True)
    nothing = NothingNextSerializer(allow_null=True, help_text="Why nothing came next.")
    today = TodaySerializer()


class SkippedSerializer(serializers.Serializer[Any]):
    assignment = LabelAssignmentShortSerializer()
    next = LabellingAssignmentSerializer(allow_null=True)
    nothing = NothingNextSerializer(allow_null=True)


class SubmissionWithOutcomeSerializer(serializers.Serializer[Any]):
    assignment = serializers.IntegerField()
    dialogue = serializers.IntegerField()
    opening = serializers.CharField(allow_blank=True, help_text="How its first utterance begins.")
    revision = serializers.IntegerField()
    stage = serializers.ChoiceField(choices=Stage.choices)
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)
    stored_at = serializers.DateTimeField()
    task_state = serializers.ChoiceField(choices=TaskState.choices)
    final = serializers.JSONField(
        allow_null=True, help_text="The final answers of the dialogue, if there are any."
    )
    origin = serializers.ChoiceField(choices=LabelOrigin.choices, allow_blank=True)


class DisputeShortSerializer(serializers.Serializer[Any]):
    task = serializers.IntegerField()
    dialogue = serializers.IntegerField()
    disagreement = serializers.FloatField(allow_null=True)
    utterance_count = serializers.IntegerField()


class PersonAnswersSerializer(serializers.Serializer[Any]):
    annotator = serializers.CharField()
    schema = serializers.IntegerField()
    stage = serializers.ChoiceField(choices=Stage.choices)
    answers = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)


class FinalLabelSerializer(serializers.ModelSerializer[FinalLabel]):
    schema = serializers.IntegerField(source="schema.version")
    decided_by = serializers.CharField(source="decided_by.username", allow_null=True, default=None)

    class Meta:
        model = FinalLabel
        fields = [
            "id", "schema", "answers", "origin", "undecided", "decided_by", "reason", "decided_at", "superseded_at",
        ]  # fmt: skip


class DisputeFullSerializer(DisputeShortSerializer):
    state = serializers.ChoiceField(choices=TaskState.choices)
    utterances = LabelUtteranceSerializer(many=True)
    answers = PersonAnswersSerializer(many=True)
    history = FinalLabelSerializer(many=True)


def requested_stage(row: Assignment) -> str:
    is_confirming = row.task.state == TaskState.CONFIRMING and row.state == AssignmentState.SUBMITTED
    return Stage.CONFIRMATION if is_confirming else Stage.LABEL


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
        "dialogue": serialize_dialogue(row.dialogue),
        "draft": draft and serialize_draft(draft),
        "submission": submission and serialize_own_submission(submission),
        "is_decided": is_sent and is_decided(row.task),
        "others": confirmation.others,
        "differences": confirmation.differences,
    }


def serialize_dialogue(dialogue: Dialogue) -> dict[str, Any]:
    return {
        "id": dialogue.pk,
        "language": dialogue.language,
        "domain": dialogue.domain,
        "utterances": utterances_in(dialogue.pk),
    }


def serialize_draft(draft: LabelDraft) -> dict[str, Any]:
    return {
        "answers": draft.answers,
        "note": draft.note,
        "version": draft.version,
        "saved_at": draft.saved_at,
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
        "opening": submission.opening or "",  # type: ignore[attr-defined]  # annotated
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
