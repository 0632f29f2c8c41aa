"""From what several people answered to one final label (DiQAD §4.2; Diamante §3.2), which says how it came about."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.errors import Invalid, NotFound, Refusal
from accounts.models import User
from annotation import schemas
from annotation.models import (
    TASK_MOVES,
    FinalLabel,
    LabellingSettings,
    LabelOrigin,
    Resolution,
    Schema,
    Stage,
    Submission,
    Task,
    TaskState,
    Ties,
)
from annotation.selectors.labelling import speakers_in
from annotation.selectors.schemas import schema_of
from annotation.services.final_answers import Merged, merged, vote
from projects.models import Event, Protocol
from projects.transitions import move

DECISION = "annotation.decision"


def resolve_task(*, task: Task, settings: LabellingSettings, schema: schemas.Schema, row: Schema) -> None:
    """See what the live submissions of a locked task make of it. Called in the transaction that changed them."""
    live = list(Submission.objects.filter(task=task, superseded_at=None).order_by("assignment_id"))
    if len(live) < task.overlap:
        _unfinish(task)
        return
    answers = [one.answers for one in live]
    compared = schemas.compared(schema, speakers_in(task.dialogue_id))
    if all(one.stage == Stage.LABEL for one in live):
        _note_disagreement(task, schema, answers, len(compared))
    if settings.resolution == Resolution.COLLECT:
        _conclude(task, row, LabelOrigin.COLLECTED, vote(schema, compared, answers, Ties.TRAINER))
    elif settings.resolution == Resolution.MAJORITY:
        _by_majority(task, row, vote(schema, compared, answers, settings.ties), len(live))
    else:
        _by_agreement(task, row, schema, compared, live)


def _by_majority(task: Task, row: Schema, result: Merged, people: int) -> None:
    if result.undecided:
        _unfinish(task, TaskState.DISPUTED)
    else:
        origin = LabelOrigin.MAJORITY if people > 1 else LabelOrigin.SINGLE
        _conclude(task, row, LabelOrigin.UNANIMOUS if result.unanimous and people > 1 else origin, result)


def _by_agreement(
    task: Task, row: Schema, schema: schemas.Schema, compared: Sequence[str], live: Sequence[Submission]
) -> None:
    answers = [one.answers for one in live]
    agree = not any(schemas.differences(schema, answers[0], other) for other in answers[1:])
    confirmed = [one.stage == Stage.CONFIRMATION for one in live]
    if agree:
        origin = LabelOrigin.CONFIRMED if any(confirmed) else LabelOrigin.UNANIMOUS
        _conclude(
            task, row, origin if len(live) > 1 else LabelOrigin.SINGLE, merged(schema, compared, answers)
        )
    else:
        # One who changes towards the other ends it; when all have confirmed and still differ, a trainer decides.
        _unfinish(task, TaskState.DISPUTED if all(confirmed) else TaskState.CONFIRMING)


def _note_disagreement(
    task: Task, schema: schemas.Schema, answers: Sequence[Mapping[str, Any]], compared: int
) -> None:
    pairs = list(combinations(answers, 2))
    if pairs and compared:
        differing = sum(len(schemas.differences(schema, one, other)) for one, other in pairs)
        task.disagreement = differing / (len(pairs) * compared)
        task.save(update_fields=["disagreement"])


def _unfinish(task: Task, to: TaskState = TaskState.OPEN) -> None:
    FinalLabel.objects.filter(task=task, superseded_at=None).update(superseded_at=timezone.now())
    _move(task, to)


def _move(task: Task, to: TaskState, actor: User | None = None, reason: str = "") -> None:
    if task.state != to:
        move(task, to=to, moves=TASK_MOVES, project=task.project, actor=actor, reason=reason)


def _conclude(
    task: Task, row: Schema, origin: LabelOrigin, result: Merged, *, by: User | None = None, reason: str = ""
) -> None:
    FinalLabel.objects.filter(task=task, superseded_at=None).update(superseded_at=timezone.now())
    FinalLabel.objects.create(
        task=task,
        project_id=task.project_id,
        dialogue_id=cast(int, task.dialogue_id),  # a labelling task has one
        schema=row,
        answers=result.answers,
        origin=origin,
        undecided=result.undecided,
        decided_by=by,
        reason=reason,
    )
    _move(task, TaskState.FINAL, by, reason)


@transaction.atomic
def decide_dispute(
    *, trainer: User, task_id: int, decision_id: UUID, answers: Mapping[str, Any], reason: str
) -> Task:
    """A trainer says what holds where people still differ, or decides anew. The same decision_id again changes nothing.

    Who labelled the dialogue cannot decide it. The caller fetches the project with the right to decide.
    """
    task = (
        Task.objects.select_for_update(of=("self",))
        .select_related("project__labelling__schema")
        .filter(pk=task_id, project__protocol=Protocol.LABELLING)
        .first()
    )
    if task is None:
        raise NotFound(_("There is no such dispute."), _("Go back to the list."))
    if Event.objects.filter(subject_type=DECISION, subject_id=str(decision_id)).exists():
        return task
    row = _check_decision(task, trainer, reason)
    known, problems = schemas.check_answers(
        schema_of(row), answers, speakers_in(task.dialogue_id), complete=True
    )
    if problems:
        named = [{"path": one.path, "code": one.code, "message": one.message} for one in problems[:50]]
        raise Invalid(f"{problems[0].path}: {problems[0].message}", field="answers", problems=named)
    _conclude(task, row, LabelOrigin.DECIDED, Merged(known, [], True), by=trainer, reason=reason.strip())
    Event.objects.create(
        project=task.project,
        subject_type=DECISION,
        subject_id=str(decision_id),
        kind="decided",
        actor=trainer,
        data={"task": task.pk},
    )
    return task


def _check_decision(task: Task, trainer: User, reason: str) -> Schema:
    if not reason.strip():
        raise Invalid(_("Give the reason: it is what people learn from."), field="reason")
    final = FinalLabel.objects.filter(task=task, superseded_at=None).first()
    if task.state != TaskState.DISPUTED and not (final and final.origin == LabelOrigin.DECIDED):
        raise Refusal(
            "not_disputed",
            _("This dialogue is not disputed."),
            _("Go back to the list and take the next one."),
        )
    if Submission.objects.filter(task=task, annotator=trainer).exists():
        raise Refusal(
            "own_work", _("You labelled this dialogue yourself."), _("Let another trainer decide it.")
        )
    row = task.project.labelling.schema
    if row is None:
        raise Refusal("no_schema", _("This project has no questions yet."), _("Write them first."))
    return row
