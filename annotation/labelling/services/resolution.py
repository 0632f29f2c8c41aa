"""From what several people answered to one final label (DiQAD §4.2; Diamante §3.2), which says how it came about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import (
    FinalLabel,
    LabellingSettings,
    LabelOrigin,
    Resolution,
    Schema,
    Stage,
    Submission,
    Ties,
)
from annotation.labelling.schema.answers import check_answers, compared_paths, count_differing_pairs
from annotation.labelling.schema.questions import QuestionSchema
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import speakers_in
from annotation.labelling.services.final_answers import (
    MergedAnswers,
    merge_agreeing,
    unanimous_answers,
    vote_by_question,
)
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import TASK_MOVES, Task, TaskState
from annotation.tasks.services.reasons import clean_reason
from common.refusals import Invalid, NotFound, Refusal
from projects.models import Event, Protocol
from projects.transitions import move

DECISION = "annotation.decision"
# Services of higher rooms that follow a final label, after its commit (annotation/apps.py).
AFTER_FINAL_LABEL: list[Callable[..., None]] = []


def resolve_task(
    *, task: Task, settings: LabellingSettings, schema: QuestionSchema, row: Schema, speakers: Sequence[str]
) -> None:
    """See what the live submissions of a locked task make of it. Called in the transaction that changed them."""
    rows = Submission.objects.filter(task=task, superseded_at=None).order_by("assignment_id")
    live = list(rows.values_list("answers", "stage"))
    if len(live) < task.overlap:
        _unfinish(task)
        return
    answers = [given for given, _stage in live]
    compared = compared_paths(schema, speakers)
    confirmed = [stage == Stage.CONFIRMATION for _answers, stage in live]
    settled = resolve_answers(settings, schema, compared, answers)
    if all(stage == Stage.LABEL for _answers, stage in live) and settled.disagreement is not None:
        task.disagreement = settled.disagreement
        task.save(update_fields=["disagreement"])
    if settled.final is None or settled.origin is None:
        # One who changes towards the other ends it; when all have confirmed and still differ, a trainer decides.
        _unfinish(task, TaskState.DISPUTED if all(confirmed) else settled.state)
    else:
        _conclude(task, row, LabelOrigin.CONFIRMED if any(confirmed) else settled.origin, settled.final)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What independent answers of all people make of a task; final and origin are None where nothing is decided."""

    state: TaskState
    disagreement: float | None
    origin: LabelOrigin | None = None
    final: MergedAnswers | None = None


def resolve_answers(
    settings: LabellingSettings,
    schema: QuestionSchema,
    compared: Sequence[str],
    answers: Sequence[Mapping[str, Any]],
) -> Outcome:
    """The outcome of answers that nobody has confirmed, by the project's resolution."""
    apart, alone = disagreement_share(schema, answers, len(compared)), len(answers) == 1
    if settings.resolution == Resolution.COLLECT:
        final = vote_by_question(schema, compared, answers, Ties.TRAINER)
        return Outcome(TaskState.FINAL, apart, LabelOrigin.COLLECTED, final)
    if settings.resolution == Resolution.MAJORITY:
        final = vote_by_question(schema, compared, answers, settings.ties)
        if final.undecided:
            return Outcome(TaskState.DISPUTED, apart)
        agreed = LabelOrigin.UNANIMOUS if final.unanimous else LabelOrigin.MAJORITY
        return Outcome(TaskState.FINAL, apart, LabelOrigin.SINGLE if alone else agreed, final)
    if apart:
        return Outcome(TaskState.CONFIRMING, apart)
    origin = LabelOrigin.SINGLE if alone else LabelOrigin.UNANIMOUS
    return Outcome(TaskState.FINAL, apart, origin, merge_agreeing(schema, compared, answers))


def disagreement_share(
    schema: QuestionSchema, answers: Sequence[Mapping[str, Any]], compared: int
) -> float | None:
    """Share of the compared answers that differ, over all pairs of people; None for one person."""
    pairs = comb(len(answers), 2)
    if not pairs or not compared:
        return None
    return count_differing_pairs(schema, answers) / (pairs * compared)


def _unfinish(task: Task, to: TaskState = TaskState.OPEN) -> None:
    _supersede(task)
    _move(task, to)


def _supersede(task: Task) -> None:
    if task.state != TaskState.OPEN:  # an open task has no final label
        FinalLabel.objects.filter(task=task, superseded_at=None).update(superseded_at=timezone.now())


def _move(task: Task, to: TaskState, actor: User | None = None, reason: str = "") -> None:
    if task.state != to:
        move(task, to=to, moves=TASK_MOVES, project=task.project, actor=actor, reason=reason)


def _conclude(
    task: Task,
    row: Schema,
    origin: LabelOrigin,
    result: MergedAnswers,
    *,
    by: User | None = None,
    reason: str = "",
) -> None:
    _supersede(task)
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
    if task.round_id is not None:
        notify_final_label(task.round_id)


def notify_final_label(round_id: int) -> None:
    """A batch waits for one dialogue less: where it was the last one, the batch is sealed, after this commit."""
    # robust: what was submitted is stored, whatever becomes of the seal; the page offers it again.
    for follow in AFTER_FINAL_LABEL:
        transaction.on_commit(partial(follow, round_id=round_id), robust=True)


def check_not_sealed(task: Task) -> None:
    """Labels of a batch change only while it is open. Under the task's lock, which sealing takes too."""
    if task.state == TaskState.WITHDRAWN:
        raise Refusal(
            "withdrawn",
            _("The batch of this dialogue was returned, and its labels were withdrawn."),
            _("The dialogue is given out once more in the next round."),
        )
    if task.round_id is None:
        return
    state = Round.objects.values_list("state", flat=True).get(pk=task.round_id)
    if state != RoundState.OPEN:
        raise Refusal(
            "sealed",
            _("The batch of this dialogue is sealed, so its labels do not change any more."),
            _("If you think that something is wrong, ask in its thread."),
        )


def propose_decision(
    settings: LabellingSettings,
    schema: QuestionSchema,
    speakers: Sequence[str],
    answers: Sequence[Mapping[str, Any]],
) -> MergedAnswers:
    """What a trainer's decision begins with: what all agree on, and where majorities count, what those say.

    Answers to an earlier version of the questions are read as far as they still fit.
    """
    read = [check_answers(schema, one, speakers, complete=False)[0] for one in answers]
    compared = compared_paths(schema, speakers)
    if settings.resolution == Resolution.MAJORITY:
        return vote_by_question(schema, compared, read, settings.ties)
    return unanimous_answers(compared, read)


@transaction.atomic
def decide_dispute(
    *,
    trainer: User,
    task_id: int,
    decision_id: UUID,
    answers: Mapping[str, Any],
    reason: str,
    replaces: int | None = None,
) -> Task:
    """A trainer says what holds where people still differ. The same decision_id again changes nothing.

    replaces: the id of the decided label that the trainer knows and decides anew; without it, or when a third one has
    decided meanwhile, a decided dispute is refused as "already_decided".
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
    if _is_decided_by(decision_id, task, trainer):
        return task
    reason = clean_reason(reason)
    row = _check_decision(task, trainer, reason, replaces)
    known, problems = check_answers(load_schema(row), answers, speakers_in(task.dialogue_id), complete=True)
    if problems:
        named = [{"path": one.path, "code": one.code, "message": one.message} for one in problems[:50]]
        raise Invalid(f"{problems[0].path}: {problems[0].message}", field="answers", problems=named)
    _conclude(task, row, LabelOrigin.DECIDED, MergedAnswers(known, [], True), by=trainer, reason=reason)
    Event.objects.create(
        project=task.project,
        subject_type=DECISION,
        subject_id=str(decision_id),
        kind="decided",
        actor=trainer,
        data={"task": task.pk},
    )
    return task


def _is_decided_by(decision_id: UUID, task: Task, trainer: User) -> bool:
    """Whether this very decision was stored before."""
    given = Event.objects.filter(subject_type=DECISION, subject_id=str(decision_id)).first()
    if given and (given.data["task"], given.actor_id) != (task.pk, trainer.pk):
        raise Refusal("id_in_use", _("This id belongs to another decision."), _("Send it with a new one."))
    return given is not None


def _check_decision(task: Task, trainer: User, reason: str, replaces: int | None) -> Schema:
    check_not_sealed(task)
    if task.state != TaskState.DISPUTED:
        _check_decided(task, replaces)
    if not reason:
        raise Invalid(_("Give the reason: it is what people learn from."), field="reason")
    if Submission.objects.filter(task=task, annotator=trainer).exists():
        raise Refusal(
            "own_work", _("You labelled this dialogue yourself."), _("Let another trainer decide it.")
        )
    row = task.project.labelling.schema
    if row is None:
        raise Refusal("no_schema", _("This project has no questions yet."), _("Write them first."))
    return row


def _check_decided(task: Task, replaces: int | None) -> None:
    """Only a decision that the trainer has seen is decided anew."""
    final = FinalLabel.objects.filter(task=task, superseded_at=None).select_related("decided_by").first()
    if final is None or final.origin != LabelOrigin.DECIDED:
        raise Refusal(
            "not_disputed",
            _("This dialogue is not disputed."),
            _("Go back to the list and take the next one."),
        )
    if final.pk != replaces:
        name = final.decided_by.shown_name if final.decided_by else _("Somebody")
        raise Refusal(
            "already_decided",
            _("%(name)s has decided this dialogue in the meantime.") % {"name": name},
            _("Read that decision; decide anew only if it is wrong."),
            details={"final": final.pk},
        )
