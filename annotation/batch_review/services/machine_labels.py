"""Batches of machine labels: sealed at once, then sampled, judged, and accepted or returned as people's batches are.

A machine label is a final label without any submission, so nothing that counts people's work or agreement sees it. If
the batch is returned, its labels are withdrawn and people label the dialogues in the next round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Max, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.selectors.batch_plan import batch_plan_for, checkable_questions
from annotation.batch_review.services.cutting import unbatched_tasks
from annotation.batch_review.services.sealing import seal_if_complete
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Schema
from annotation.labelling.schema.questions import Question
from annotation.labelling.selectors.schemas import current_schema
from annotation.labelling.services.schemas import mark_used
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.assignment import reset_claim_cursors
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from projects.locking import lock_project
from projects.models import Event, Project, Protocol
from projects.transitions import record_request

MACHINE_BATCH = "annotation.machine_batch"
ROWS_PER_INSERT = 2000


@dataclass(frozen=True, slots=True)
class MachineLabel:
    """value: an option of the question. probability: that the model gave it, 0 to 1."""

    dialogue: int
    value: int | str
    probability: float


@dataclass(frozen=True, slots=True)
class MachineSource:
    """Where machine labels come from. run: of the evaluator. model, version: what it computed with."""

    run: UUID
    model: str
    version: str

    def describe(self, label: MachineLabel) -> dict[str, Any]:
        """The mark of a final label, see FinalLabel.machine."""
        return {
            "run": str(self.run),
            "model": self.model,
            "version": self.version,
            "probability": label.probability,
        }


@transaction.atomic
def create_machine_batch(
    *,
    project: Project,
    actor: User | None,
    batch_id: UUID,
    source: MachineSource,
    labels: Sequence[MachineLabel],
    request: Mapping[str, Any],
) -> Batch:
    """Label dialogues that nobody has begun by machine, and seal them as one batch.

    labels: answers to the question that the batch plan checks; those of other dialogues are ignored. request: what was
    asked for, for the event. The same batch_id again returns the first batch.
    Raises Invalid and Refusal: wrong_protocol, id_in_use, no_checked_question, nothing_to_label.
    """
    if project.protocol != Protocol.LABELLING:
        raise Refusal("wrong_protocol", _("Only labelling projects have batches."))
    lock_project(project.pk)
    earlier = Event.objects.filter(subject_type=MACHINE_BATCH, subject_id=str(batch_id)).first()
    if earlier is not None:
        check_repeat(earlier, project_id=project.pk)
        check_repeat(earlier.data, request=dict(request))
        return Batch.objects.get(pk=earlier.data["batch"])
    question = checked_question(project)
    _check_values(question, labels)
    tasks = _lock_untouched(project, [label.dialogue for label in labels])
    if not tasks:
        raise nothing_to_label()
    row = _open_round(project, source, len(tasks))
    _store_labels(project, row, question, source, {label.dialogue: label for label in labels}, tasks)
    data = {"batch": row.batch_id, "count": len(tasks), "request": dict(request)}
    record_request(MACHINE_BATCH, batch_id, kind="labelled", project=project, actor=actor, data=data)
    reset_claim_cursors(project)
    seal_if_complete(row)
    return row.batch


def checked_question(project: Project) -> Question:
    """The question that machine labels answer: the one that the batch plan checks. Raises Refusal if it is not one."""
    key = batch_plan_for(project).question
    question = next((one for one in checkable_questions(project) if one.key == key), None)
    if question is None:
        raise Refusal(
            "no_checked_question",
            _("The project's batches are not judged by a question that a machine could answer."),
            _("Choose a question about the dialogue in “How batches are judged”."),
        )
    return question


def untouched_tasks(project: Project) -> QuerySet[Task]:
    """Tasks in no batch whose dialogues nobody has claimed, without gold dialogues."""
    return unbatched_tasks(project).filter(state=TaskState.OPEN, open_slots=F("overlap"), submissions=None)


def nothing_to_label() -> Refusal:
    return Refusal(
        "nothing_to_label",
        _("All of these dialogues are already in a batch, or somebody has begun them."),
        _("Score dialogues that nobody has begun, or select more classes."),
    )


def _check_values(question: Question, labels: Sequence[MachineLabel]) -> None:
    known = {option.value for option in question.options}
    wrong = next((label.value for label in labels if label.value not in known), None)
    if wrong is not None:
        raise Invalid(
            _("“%(value)s” is not an answer to “%(question)s”.") % {"value": wrong, "question": question.key},
            _("Choose one of: %(names)s.") % {"names": ", ".join(map(str, known))},
            field="labels",
        )


def _lock_untouched(project: Project, dialogues: Sequence[int]) -> dict[int, int]:
    """Task by dialogue. While they are locked, nobody claims them."""
    waiting = untouched_tasks(project).filter(dialogue__id__any_of=list(dialogues))
    locked = set(
        waiting.select_for_update(no_key=True, of=("self",)).order_by("pk").values_list("pk", flat=True)
    )
    # A task that was claimed while its lock was awaited is only visible to a new statement.
    rows = waiting.order_by("pk").values_list("dialogue_id", "pk")
    return {dialogue: task for dialogue, task in rows if dialogue and task in locked}


def _open_round(project: Project, source: MachineSource, size: int) -> Round:
    last = Batch.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0
    batch = Batch.objects.create(project=project, number=last + 1, size=size)
    return Round.objects.create(batch=batch, project=project, machine=source.model[:80])


def _store_labels(
    project: Project,
    row: Round,
    question: Question,
    source: MachineSource,
    labels: Mapping[int, MachineLabel],
    tasks: Mapping[int, int],
) -> None:
    schema = _schema(project)
    FinalLabel.objects.bulk_create(
        (
            FinalLabel(
                task_id=task,
                project=project,
                dialogue_id=dialogue,
                schema=schema,
                answers={"dialogue": {question.key: labels[dialogue].value}, "utterances": {}},
                origin=LabelOrigin.MACHINE,
                machine=source.describe(labels[dialogue]),
            )
            for dialogue, task in tasks.items()
        ),
        batch_size=ROWS_PER_INSERT,
    )
    labelled = Task.objects.filter(id__any_of=list(tasks.values()))
    labelled.update(round=row, state=TaskState.FINAL, open_slots=0)


def _schema(project: Project) -> Schema:
    schema = current_schema(project)
    if schema is None:
        raise Refusal("no_schema", _("This project has no questions yet."), _("Write them first."))
    mark_used(schema)
    return schema
