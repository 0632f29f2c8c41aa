"""Drawing the sample of a sealed batch (DiQAD §4.2): at random, with a stored seed, never the controller's own work."""

import secrets
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import Sample, SampleItem
from annotation.batch_review.selectors.batch_plan import batch_plan_for
from annotation.batch_review.selectors.eligibility import labelled_by
from annotation.batch_review.selectors.reviewed_items import label_class
from annotation.batch_review.services.locking import lock_round
from annotation.labelling.models.labels import FinalLabel
from annotation.tasks.models.rounds import ROUND_MOVES, Round, RoundState
from annotation.tasks.models.work import Task
from common.idempotency import check_repeat
from common.refusals import Refusal
from measures.drawing import draw, draw_by_class
from projects.transitions import move

SEED_BITS = 63


class ClassedLabel(NamedTuple):
    """A final label that can be drawn. label: its class."""

    final_id: int
    label: str


Population = Mapping[int, ClassedLabel]  # by task


@transaction.atomic
def draw_sample(*, controller: User, round_id: int, sample_id: UUID) -> Sample:
    """Draw the one sample of a sealed round, which is in review from then on. The same sample_id again returns it.

    The server chooses the seed: whoever chose one for known labels would choose the sample.
    Raises Refusal: id_in_use, already_drawn (share that sample), not_sealed, own_work (the controller labelled all).
    """
    row = lock_round(round_id)
    if stored := Sample.objects.filter(pk=sample_id).first():
        check_repeat(stored, round_id=row.pk, drawn_by_id=controller.pk)
        return stored
    _check_drawable(row)
    plan = batch_plan_for(row.project)
    population, own = _population(row, controller, plan.question)
    if not population:
        raise Refusal(
            "own_work",
            _("You labelled every dialogue of this batch yourself."),
            _("Let another controller draw the sample."),
        )
    sample = Sample.objects.create(
        id=sample_id,
        round=row,
        seed=new_seed(),
        is_blind=plan.is_blind,
        is_stratified=plan.is_stratified,
        is_double=bool(plan.double_every) and row.batch.number % plan.double_every == 0,
        question=plan.question,
        overall_percent=plan.overall_percent,
        class_percent=plan.class_percent,
        population=len(population),
        own=own,
        classes=Counter(classed.label for classed in population.values()),
        drawn_by=controller,
    )
    _store_items(sample, population, plan.sample_size)
    return sample


def new_seed() -> int:
    return secrets.randbits(SEED_BITS)


def redraw_sample(sample: Sample) -> list[int]:
    """Draw again from the stored seed and the population of that time. Returns the tasks in order.

    `manage.py redraw` compares them with the sample. It needs the account of the person who drew it if they had
    labelled dialogues of the batch.
    """
    population, _own = _population(sample.round, sample.drawn_by, sample.question, until=sample.drawn_at)
    return _draw_tasks(population, sample.items.count(), sample)


def _check_drawable(row: Round) -> None:
    if Sample.objects.filter(round=row).exists():
        raise Refusal(
            "already_drawn",
            _("The sample of this batch has already been drawn."),
            _("Judge that one; several controllers can share it."),
        )
    if row.state != RoundState.SEALED:
        raise Refusal(
            "not_sealed",
            _("This batch is not sealed, so its labels may still change."),
            _("It is sealed automatically once every dialogue has its final label."),
        )


def _store_items(sample: Sample, population: Population, size: int) -> None:
    """Draw the items and put the round in review."""
    tasks, row = _draw_tasks(population, size, sample), sample.round
    SampleItem.objects.bulk_create(
        SampleItem(
            sample=sample,
            place=place,
            task_id=task,
            final_id=population[task].final_id,
            label=population[task].label,
        )
        for place, task in enumerate(tasks)
    )
    data = {
        "sample": str(sample.pk),
        "seed": sample.seed,
        "size": len(tasks),
        "population": sample.population,
    }
    move(
        row,
        to=RoundState.IN_REVIEW,
        moves=ROUND_MOVES,
        project=row.project,
        actor=sample.drawn_by,
        data=data,
    )


def _population(
    row: Round, controller: User | None, question: str, *, until: datetime | None = None
) -> tuple[dict[int, ClassedLabel], int]:
    """The final labels that can be drawn, by task, and how many the controller's own work takes away.

    until: ignore what the controller labelled later, for instance in the next round.
    """
    own = set[int]()
    if controller:
        tasks = Task.objects.filter(labelled_by(controller, until), round=row)
        own = set(tasks.values_list("pk", flat=True))
    finals = FinalLabel.objects.filter(_live_when_drawn(row), task__round=row)
    rows = finals.order_by("task_id").values_list("task_id", "pk", "answers")
    population = {
        task: ClassedLabel(final, label_class(answers, question))
        for task, final, answers in rows
        if task not in own
    }
    return population, len(own)


def _live_when_drawn(row: Round) -> Q:
    """Nothing changes between the seal and the verdict, which may withdraw all labels at once."""
    if row.state == RoundState.RETURNED and row.ended_at is not None:
        return Q(superseded_at__gte=row.ended_at) | Q(superseded_at=None)
    return Q(superseded_at=None)


def _draw_tasks(population: Population, size: int, sample: Sample) -> list[int]:
    if sample.is_stratified:
        classes = [(task, classed.label) for task, classed in population.items()]
        return draw_by_class(classes, size, sample.seed)
    return draw(list(population), size, sample.seed)
