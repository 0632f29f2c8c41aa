"""Turns several people's answers into one final label that records its origin (DiQAD §4.2; Diamante §3.2)."""

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
from annotation.labelling.schema.answers import (
    AnswerProblem,
    check_answers,
    compared_paths,
    count_differing_pairs,
)
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
from common.idempotency import check_repeat
from common.refusals import Invalid, NotFound, Refusal
from projects.models import Event, Protocol
from projects.transitions import move, record, record_request

DECISION = "annotation.decision"
# Services of other rooms that run after the commit of a final label; annotation/apps.py registers them.
AFTER_FINAL_LABEL: list[Callable[..., None]] = []


def resolve_task(
    *, task: Task, settings: LabellingSettings, schema: QuestionSchema, row: Schema, speakers: Sequence[str]
) -> None:
    """Resolve a locked task from its live submissions. Call it in the transaction that changed them."""
    rows = Submission.objects.filter(task=task, superseded_at=None).order_by("assignment_id")
    live = list(rows.values_list("answers", "stage"))
    if len(live) < task.overlap:
        _reopen(task)
        return
    answers = [answers for answers, _stage in live]
    compared = compared_paths(schema, speakers)
    confirmed = [stage == Stage.CONFIRMATION for _answers, stage in live]
    outcome = resolve_answers(settings, schema, compared, answers)
    if all(stage == Stage.LABEL for _answers, stage in live) and outcome.disagreement is not None:
        task.disagreement = outcome.disagreement
        task.save(update_fields=["disagreement"])
    if outcome.final is None or outcome.origin is None:
        # Once everybody has confirmed and they still differ, a trainer decides.
        _reopen(task, TaskState.DISPUTED if all(confirmed) else outcome.state)
    else:
        _conclude(task, row, LabelOrigin.CONFIRMED if any(confirmed) else outcome.origin, outcome.final)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task's answers lead to. final and origin are None if nothing is decided."""

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
    """Resolve answers that nobody has confirmed, by the project's resolution."""
    share, is_single = disagreement_share(schema, answers, len(compared)), len(answers) == 1
    if settings.resolution == Resolution.COLLECT:
        final = vote_by_question(schema, compared, answers, Ties.TRAINER)
        return Outcome(TaskState.FINAL, share, LabelOrigin.COLLECTED, final)
    if settings.resolution == Resolution.MAJORITY:
        final = vote_by_question(schema, compared, answers, settings.ties)
        if final.undecided:
            return Outcome(TaskState.DISPUTED, share)
        agreed = LabelOrigin.UNANIMOUS if final.unanimous else LabelOrigin.MAJORITY
        return Outcome(TaskState.FINAL, share, LabelOrigin.SINGLE if is_single else agreed, final)
    if share:
        return Outcome(TaskState.CONFIRMING, share)
    origin = LabelOrigin.SINGLE if is_single else LabelOrigin.UNANIMOUS
    return Outcome(TaskState.FINAL, share, origin, merge_agreeing(schema, compared, answers))


def disagreement_share(
    schema: QuestionSchema, answers: Sequence[Mapping[str, Any]], compared: int
) -> float | None:
    """The share of compared answers that differ, over all pairs of people; None for one person."""
    pairs = comb(len(answers), 2)
    if not pairs or not compared:
        return None
    return count_differing_pairs(schema, answers) / (pairs * compared)


def _reopen(task: Task, to: TaskState = TaskState.OPEN) -> None:
    _supersede(task)
    _move(task, to)


def _supersede(task: Task) -> None:
    if task.state != TaskState.OPEN:  # an open task has no final label
        FinalLabel.objects.filter(task=task, superseded_at=None).update(superseded_at=timezone.now())


def _move(task: Task, to: TaskState) -> None:
    if task.state != to:
        data = {"dialogue": task.dialogue_id}
        move(task, to=to, moves=TASK_MOVES, project=task.project, data=data)


def _conclude(
    task: Task,
    row: Schema,
    origin: LabelOrigin,
    result: MergedAnswers,
    *,
    by: User | None = None,
    reason: str = "",
) -> FinalLabel:
    _supersede(task)
    final = FinalLabel.objects.create(
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
    _record_final(task, final)
    if task.round_id is not None:
        notify_final_label(task.round_id)
    return final


def _record_final(task: Task, final: FinalLabel) -> None:
    data = {"dialogue": final.dialogue_id, "label": final.pk}
    project, actor, reason = task.project, final.decided_by, final.reason
    if task.state == TaskState.FINAL:  # a corrected answer, or another decision
        record(
            task,
            kind="label_replaced",
            project=project,
            actor=actor,
            reason=reason,
            before=task.state,
            after=task.state,
            data=data,
        )
    else:
        move(
            task,
            to=TaskState.FINAL,
            moves=TASK_MOVES,
            project=project,
            actor=actor,
            reason=reason,
            data=data,
        )


def notify_final_label(round_id: int) -> None:
    """Run the registered services after this commit. One seals the batch if this was its last open dialogue."""
    # robust: the submission stays stored if sealing fails; the page offers to seal again.
    for service in AFTER_FINAL_LABEL:
        transaction.on_commit(partial(service, round_id=round_id), robust=True)


def check_not_sealed(task: Task) -> None:
    """Raise Refusal unless the task's labels may change. Call it under the task's lock, which sealing takes too."""
    if task.state == TaskState.WITHDRAWN:
        raise Refusal(
            "withdrawn",
            _("The batch of this dialogue was returned, and its labels were withdrawn."),
            _("The dialogue is assigned again in the next round."),
        )
    if task.round_id is None:
        return
    state = Round.objects.values_list("state", flat=True).get(pk=task.round_id)
    if state != RoundState.OPEN:
        raise Refusal(
            "sealed",
            _("The batch of this dialogue is sealed, so its labels do not change any more."),
            _("If you think something is wrong, ask in the dialogue's thread."),
        )


def propose_decision(
    settings: LabellingSettings,
    schema: QuestionSchema,
    speakers: Sequence[str],
    answers: Sequence[Mapping[str, Any]],
) -> MergedAnswers:
    """Suggest answers for a trainer's decision: what everybody agrees on, or the majority where the project uses it.

    Answers to an earlier version of the questions count as far as they still fit.
    """
    settled = [check_answers(schema, person, speakers, complete=False)[0] for person in answers]
    compared = compared_paths(schema, speakers)
    if settings.resolution == Resolution.MAJORITY:
        return vote_by_question(schema, compared, settled, settings.ties)
    return unanimous_answers(compared, settled)


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
    """Store a trainer's decision on a disputed task. Sending decision_id again changes nothing.

    replaces: the id of the decided label that the trainer has seen. The caller checks the right to decide.
    Raises NotFound, Invalid, and Refusal: `already_decided` (without `replaces`, or if somebody else has decided
    since), `not_disputed`, `own_work` (the trainer labelled it), `no_schema`, `sealed`, `withdrawn`, `id_in_use`.
    """
    task = (
        Task.objects.select_for_update(of=("self",))
        .select_related("project__labelling__schema")
        .filter(pk=task_id, project__protocol=Protocol.LABELLING)
        .first()
    )
    if task is None:
        raise NotFound(_("There is no such dispute."), _("Go back to the list."))
    reason = clean_reason(reason)
    if _is_repeated(decision_id, task, trainer, answers, reason):
        return task
    row = _check_decision(task, trainer, reason, replaces)
    settled, problems = check_answers(load_schema(row), answers, speakers_in(task.dialogue_id), complete=True)
    if problems:
        raise _invalid_answers(problems)
    merged = MergedAnswers(settled, undecided=[], unanimous=True)
    final = _conclude(task, row, LabelOrigin.DECIDED, merged, by=trainer, reason=reason)
    data = {"task": task.pk, "final": final.pk}
    record_request(DECISION, decision_id, kind="decided", project=task.project, actor=trainer, data=data)
    return task


def _invalid_answers(problems: Sequence[AnswerProblem]) -> Invalid:
    details = [{"path": item.path, "code": item.code, "message": item.message} for item in problems[:50]]
    return Invalid(f"{problems[0].path}: {problems[0].message}", field="answers", problems=details)


def _is_repeated(
    decision_id: UUID, task: Task, trainer: User, answers: Mapping[str, Any], reason: str
) -> bool:
    """Whether this decision was stored before. Raises Refusal `id_in_use` if the id belongs to another one."""
    event = Event.objects.filter(subject_type=DECISION, subject_id=str(decision_id)).first()
    if event is None:
        return False
    first = {"task": event.data["task"], "trainer": event.actor_id}
    check_repeat(first, task=task.pk, trainer=trainer.pk)
    # Events written before labels were recorded in them name no label.
    final = FinalLabel.objects.filter(pk=event.data.get("final")).select_related("schema").first()
    if final is not None:
        settled, _problems = check_answers(
            load_schema(final.schema), answers, speakers_in(task.dialogue_id), complete=True
        )
        check_repeat(final, reason=reason, answers=settled)
    return True


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
    """Raise Refusal unless the trainer replaces a decision that they have seen."""
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
            _("Read that decision; change it only if it is wrong."),
            details={"final": final.pk},
        )
