"""Drawing the sample of a sealed batch (DiQAD §4.2): at random, with its seed, never the controller's own work."""

import secrets
from collections import Counter
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import Sample, SampleItem
from annotation.batch_review.selectors.batches import class_of, labelled_by, plan_of
from annotation.batch_review.services.batches import locked_round
from annotation.labelling.models.labels import FinalLabel
from annotation.tasks.models.rounds import ROUND_MOVES, Round, RoundState
from annotation.tasks.models.work import Task
from common.refusals import Refusal
from measures.drawing import draw, draw_by_class
from projects.transitions import move

SEED_BITS = 63


@transaction.atomic
def draw_sample(*, controller: User, round_id: int, sample_id: UUID, seed: int | None = None) -> Sample:
    """Draw a round's one sample; the round is in review from now on. The same sample_id again returns it.

    Raises Refusal: already_drawn (by somebody else meanwhile: judge that one), id_in_use, not_sealed, own_work (the
    controller labelled all of it).
    """
    row = locked_round(round_id)
    drawn = Sample.objects.filter(round=row).first()
    if drawn is not None:
        if drawn.pk == sample_id:
            return drawn
        raise Refusal(
            "already_drawn",
            _("The sample of this batch is drawn already."),
            _("Judge that one; several controllers can share it."),
        )
    if Sample.objects.filter(pk=sample_id).exists():
        raise Refusal("id_in_use", _("This id belongs to another sample."), _("Send it with a new one."))
    if row.state != RoundState.SEALED:
        raise Refusal(
            "not_sealed",
            _("This batch is not sealed, so its labels may still change."),
            _("It is sealed when every dialogue has its final label."),
        )
    plan = plan_of(row.project)
    labels, own = _population(row, controller, plan.question)
    if not labels:
        raise Refusal(
            "own_work",
            _("You labelled every dialogue of this batch yourself."),
            _("Let another controller draw the sample."),
        )
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    sample = Sample.objects.create(
        id=sample_id,
        round=row,
        seed=seed,
        is_blind=plan.is_blind,
        is_stratified=plan.is_stratified,
        is_double=bool(plan.double_every) and row.batch.number % plan.double_every == 0,
        question=plan.question,
        overall_percent=plan.overall_percent,
        class_percent=plan.class_percent,
        population=len(labels),
        own=own,
        classes=Counter(label for _final, label in labels.values()),
        drawn_by=controller,
    )
    chosen = _drawn(labels, plan.sample_size, seed, by_class=plan.is_stratified)
    SampleItem.objects.bulk_create(
        SampleItem(sample=sample, place=place, task_id=task, final_id=labels[task][0], label=labels[task][1])
        for place, task in enumerate(chosen)
    )
    data = {"sample": str(sample.pk), "seed": seed, "size": len(chosen), "population": len(labels)}
    move(row, to=RoundState.IN_REVIEW, moves=ROUND_MOVES, project=row.project, actor=controller, data=data)
    return sample


def redrawn(sample: Sample) -> list[int]:
    """The tasks that the stored seed draws once more out of what could be drawn then: those of the sample, in order.

    `manage.py redraw` shows it. Who drew it must still have an account if they had labelled dialogues of the batch.
    """
    labels, _own = _population(sample.round, sample.drawn_by, sample.question, until=sample.drawn_at)
    return _drawn(labels, sample.items.count(), sample.seed, by_class=sample.is_stratified)


def _population(
    row: Round, controller: User | None, question: str, *, until: datetime | None = None
) -> tuple[dict[int, tuple[int, str]], int]:
    """Task to its final label and class, without what the controller labelled; and how many of those there are.

    until: what the controller labelled later, as in the next round, is no matter.
    """
    tasks = Task.objects.filter(round=row)
    own = set[int]()
    if controller:
        own = set(tasks.filter(labelled_by(controller, until)).values_list("pk", flat=True))
    finals = FinalLabel.objects.filter(_live_when_drawn(row), task__round=row)
    rows = finals.order_by("task_id").values_list("task_id", "pk", "answers")
    labels = {task: (final, class_of(answers, question)) for task, final, answers in rows if task not in own}
    return labels, len(own)


def _live_when_drawn(row: Round) -> Q:
    """Nothing changes between the seal and the verdict, which may withdraw all of it at once."""
    if row.state == RoundState.RETURNED and row.ended_at is not None:
        return Q(superseded_at__gte=row.ended_at) | Q(superseded_at=None)
    return Q(superseded_at=None)


def _drawn(labels: dict[int, tuple[int, str]], size: int, seed: int, *, by_class: bool) -> list[int]:
    if by_class:
        return draw_by_class([(task, label) for task, (_final, label) in labels.items()], size, seed)
    return draw(list(labels), size, seed)
