"""Labelling a dialogue: submitting labels once, correcting them, skipping a dialogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, Schema, Stage, Submission
from annotation.labelling.schema.answers import AnswerProblem, Answers, check_answers
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import is_decided, shows_others
from annotation.labelling.services.resolution import check_not_sealed, resolve_task
from annotation.labelling.services.schemas import mark_used
from annotation.labelling.services.shown_labels import record_shown_labels
from annotation.labelling.services.submission_sql import (
    LockedAssignment,
    delete_draft_and_start_next,
    lock_assignment_and_task,
)
from annotation.tasks.models.work import ASSIGNMENT_MOVES, Assignment, AssignmentState, Task, TaskState
from annotation.tasks.selectors.assignments import assignment_not_found
from annotation.tasks.services.assignment import check_still_annotates, ensure_held, release
from annotation.tasks.services.reasons import clean_reason
from common import clock
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from projects.models import Event
from projects.transitions import move

MAX_NOTE = 5000
PROBLEMS_NAMED = 50


@dataclass(frozen=True, slots=True)
class SentLabels:
    """Labels as the browser sends them.

    id: made by the browser. schema: the version that was answered. active_ms, idle_ms: time with and without input;
    waited_ms: time in the browser's outbox. trace: clicks, [{"at": ms since shown, "kind", …}].
    """

    id: UUID
    schema: int
    answers: Mapping[str, Any]
    note: str = ""
    active_ms: int = 0
    idle_ms: int = 0
    waited_ms: int = 0
    trace: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    submission: Submission
    task: Task
    repeated: bool = False


def submit_labels(*, annotator: User, assignment_id: int, sent: SentLabels) -> SubmissionResult:
    """Store labels once and resolve the task; the browser sends them again after a lost reply.

    Labels for the same dialogue with another id are a new revision, and the person's confirmation while the task is
    being confirmed. Raises NotFound, NotAllowed, Invalid (details["problems"]), or Refusal: id_in_use, too_early,
    schema_changed, lease_gone, not_writable, sealed, withdrawn, decided.
    """
    try:
        return _submit(annotator, assignment_id, sent)
    except IntegrityError:
        # Another dialogue's submission has the id. No page sends that, so nothing looks for it before the insert.
        if stored := Submission.objects.filter(pk=sent.id).first():
            check_repeat(stored, assignment_id=assignment_id)
        raise


@transaction.atomic
def _submit(annotator: User, assignment_id: int, sent: SentLabels) -> SubmissionResult:
    locked = _lock(annotator, assignment_id)
    assignment, task = locked.assignment, locked.assignment.task
    is_revision = assignment.state == AssignmentState.SUBMITTED
    if is_revision and (stored := Submission.objects.select_related("schema").filter(pk=sent.id).first()):
        return _repeated(stored, locked, sent)
    _check_open(locked)
    row = _schema_row(assignment, sent.schema)
    answers = _valid_answers(row, sent, locked.speakers)
    labelled_at = _labelled_at(assignment, sent.waited_ms)
    if not is_revision:
        _check_time(assignment, labelled_at)
        _check_held(locked)
    mark_used(row)
    submission = _store(locked, row, answers, sent, labelled_at)
    if not is_revision:
        _finish(assignment, submission)
    settings = assignment.project.labelling
    resolve_task(task=task, settings=settings, schema=load_schema(row), row=row, speakers=locked.speakers)
    return SubmissionResult(submission, task)


@transaction.atomic
def skip_task(*, annotator: User, assignment_id: int, reason: str) -> Assignment:
    """Give a dialogue back with a reason; somebody else gets it, and this person does not get it again."""
    reason = clean_reason(reason)
    if not reason:
        raise Invalid(_("Say briefly why you skip this dialogue."), field="reason")
    return release(annotator=annotator, assignment_id=assignment_id, reason=reason)


def _lock(annotator: User, assignment_id: int) -> LockedAssignment:
    """Lock the annotator's own assignment. Raises NotFound for other people's."""
    locked = lock_assignment_and_task(assignment=assignment_id, annotator=annotator.pk)
    if locked is None:
        raise assignment_not_found()
    locked.assignment.annotator = annotator
    return locked


def _check_held(locked: LockedAssignment) -> None:
    """Take up saved or expired work. The lease of active work is not renewed: it ends with this submission."""
    if locked.assignment.state == AssignmentState.ACTIVE:
        check_still_annotates(locked.assignment, locked.roles)
    else:
        ensure_held(locked.assignment)


def _repeated(stored: Submission, locked: LockedAssignment, sent: SentLabels) -> SubmissionResult:
    answers, _problems = check_answers(
        load_schema(stored.schema), sent.answers, locked.speakers, complete=True
    )
    check_repeat(stored, assignment_id=locked.assignment.pk, answers=answers, note=_clean_note(sent.note))
    check_repeat(stored.schema, version=sent.schema)
    stored.assignment = locked.assignment
    return SubmissionResult(stored, locked.assignment.task, repeated=True)


def _clean_note(note: str) -> str:
    return note.replace("\0", "").strip()[:MAX_NOTE]


def _check_open(locked: LockedAssignment) -> None:
    assignment, task = locked.assignment, locked.assignment.task
    if assignment.state == AssignmentState.RELEASED:
        raise Refusal(
            "not_writable",
            _("You have skipped this dialogue."),
            _("Your answers are still here. Resume it from your queue, if nobody else has it."),
        )
    check_not_sealed(task)
    if assignment.state != AssignmentState.SUBMITTED:
        return
    check_still_annotates(assignment, locked.roles)
    if task.state == TaskState.DISPUTED or is_decided(task):
        raise Refusal(
            "decided",
            _("A trainer decides this dialogue, or has decided it."),
            _("If you think something is wrong, ask in the dialogue's thread."),
        )


def _schema_row(assignment: Assignment, version: int) -> Schema:
    row = assignment.project.labelling.schema
    if row is None:
        raise Refusal(
            "no_schema", _("This project has no questions yet."), _("Ask its trainer to write them.")
        )
    if row.version != version:
        raise Refusal(
            "schema_changed",
            _(
                "The questions were changed while you were answering: version %(new)d is current, no longer %(old)d."
            )
            % {"new": row.version, "old": version},
            _("Your answers are still here. Reload the page, look them over and send again."),
            details={"version": row.version},
        )
    return row


def _valid_answers(row: Schema, sent: SentLabels, speakers: Sequence[str]) -> Answers:
    answers, problems = check_answers(load_schema(row), sent.answers, speakers, complete=True)
    if problems:
        raise _invalid_answers(problems)
    return answers


def _invalid_answers(problems: Sequence[AnswerProblem]) -> Invalid:
    first = problems[0]
    more = ngettext("%(n)d more problem.", "%(n)d more problems.", len(problems) - 1)
    return Invalid(
        f"{first.path}: {first.message}" if first.path else first.message,
        more % {"n": len(problems) - 1} if len(problems) > 1 else "",
        field="answers",
        problems=[
            {"path": problem.path, "code": problem.code, "message": problem.message}
            for problem in problems[:PROBLEMS_NAMED]
        ],
    )


def _labelled_at(assignment: Assignment, waited_ms: int) -> datetime:
    """When the person sent the labels: the time in the outbox before now, but not before the dialogue was served."""
    served = assignment.served_at or assignment.claimed_at
    return max(served, clock.now() - timedelta(milliseconds=max(0, waited_ms)))


def _check_time(assignment: Assignment, labelled_at: datetime) -> None:
    """Enforce the minimum reading time (DiQAD §4.2), which begins when the dialogue is served."""
    least = assignment.project.labelling.min_seconds
    left = least - (labelled_at - (assignment.served_at or assignment.claimed_at)).total_seconds()
    if left > 0:
        raise Refusal(
            "too_early",
            ngettext(
                "A dialogue takes at least %(n)d second here.",
                "A dialogue takes at least %(n)d seconds here.",
                least,
            )
            % {"n": least},
            _("Read it once more and send it in a moment. Your answers are still here."),
            details={"seconds_left": round(left, 1)},
        )


def _stage(locked: LockedAssignment, before: Submission | None) -> Stage:
    """Whether the person could see others' answers when the labels arrived, by what the server has shown.

    Nothing that the client sends decides this. Labels are independent (`label`) if neither others' answers nor the
    final label were shown to the person, and the confirmation, whose beginning says that others differ, has not begun.
    """
    task = locked.assignment.task
    is_confirming = before is not None and _has_been_confirming(task)
    if (before and before.stage == Stage.CONFIRMATION) or (is_confirming and locked.saw_labels):
        return Stage.CONFIRMATION
    if locked.saw_labels or is_confirming:
        return Stage.CORRECTION
    if before and (before.stage == Stage.CORRECTION or _has_been_final(task)):
        return Stage.CORRECTION
    return Stage.LABEL


def _has_been_confirming(task: Task) -> bool:
    """Whether people were ever asked to confirm. The task may be final or disputed by now."""
    if task.state == TaskState.CONFIRMING:
        return True
    events = Event.objects.filter(subject_type=task._meta.label_lower, subject_id=str(task.pk))
    return events.filter(after=TaskState.CONFIRMING).exists()


def _has_been_final(task: Task) -> bool:
    """Whether a final label of several people existed, which shows what the others answered."""
    return task.overlap > 1 and FinalLabel.objects.filter(task=task).exists()


def _store(
    locked: LockedAssignment, row: Schema, answers: Answers, sent: SentLabels, labelled_at: datetime
) -> Submission:
    assignment = locked.assignment
    is_first = assignment.state != AssignmentState.SUBMITTED
    before = None if is_first else _supersede_live_submission(assignment)
    submission = Submission(
        id=sent.id,
        assignment=assignment,
        task=assignment.task,
        project=assignment.project,
        annotator=assignment.annotator,
        schema=row,
        revision=before.revision + 1 if before else 1,
        stage=_stage(locked, before),
        answers=answers,
        note=_clean_note(sent.note),
        active_ms=sent.active_ms,
        idle_ms=sent.idle_ms,
        trace=list(sent.trace),
        served_at=assignment.served_at or assignment.claimed_at,
    )
    submission.save(force_insert=True)
    delete_draft_and_start_next(assignment, is_first=is_first, now=labelled_at)
    return submission


def _supersede_live_submission(assignment: Assignment) -> Submission | None:
    live = Submission.objects.filter(assignment=assignment, superseded_at=None).defer("answers", "trace")
    before = live.first()
    if before:
        before.superseded_at = clock.now()
        before.save(update_fields=["superseded_at"])
    return before


def _finish(assignment: Assignment, submission: Submission) -> None:
    move(
        assignment,
        to=AssignmentState.SUBMITTED,
        moves=ASSIGNMENT_MOVES,
        project=assignment.project,
        actor=assignment.annotator,
        submitted_at=submission.stored_at,
        touched_at=submission.stored_at,
    )


@transaction.atomic
def serve(*, assignment: Assignment) -> Assignment:
    """Start the dialogue's reading time when it is first shown, and record who is shown others' answers.

    Safe to repeat.
    """
    if assignment.served_at is None:
        now = clock.now()
        Assignment.objects.filter(pk=assignment.pk, served_at=None).update(served_at=now)
        assignment.served_at = now
    if shows_others(assignment):
        record_shown_labels(person=assignment.annotator, tasks=[assignment.task_id])
    return assignment
