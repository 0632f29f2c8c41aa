"""Putting an assessor's finished run to work: ordering the queue of people, labelling batches by machine."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.services.machine_labels import (
    MachineLabel,
    MachineSource,
    create_machine_batch,
)
from annotation.tasks.models.rounds import Batch
from annotation.tasks.services.queue_order import order_queue, restore_queue
from common.refusals import Invalid, Refusal
from preference.evaluators.models import ScoringRun
from preference.evaluators.selectors.assessments import (
    assessments_of,
    has_assessments,
    most_uncertain_first,
    untouched_assessments,
)

MOST_LABELS = 100_000


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """Which dialogues become machine labels.

    options: the answer for each class of the assessor, as text; classes that are left out stay with people.
    least_probability: of the predicted class. most: dialogues, the most probable ones first.
    """

    options: Mapping[str, int | str]
    least_probability: float = 0
    most: int = 2000


@transaction.atomic
def order_queue_by_uncertainty(*, run: ScoringRun, actor: User | None, order_id: UUID) -> int:
    """Give out the open dialogues of which the assessor is least sure first; returns how many.

    Least sure: the highest normalised entropy of the class probabilities. It pre-fills nothing. The same order_id again
    changes nothing. Raises Refusal no_assessments, id_in_use.
    """
    check_has_assessments(run)
    dialogues = most_uncertain_first(assessments_of(run))
    source = {"run": str(run.pk), "by": "entropy"}
    return order_queue(
        project=run.project, actor=actor, order_id=order_id, dialogues=dialogues, source=source
    )


@transaction.atomic
def undo_queue_order(*, run: ScoringRun, actor: User | None, request_id: UUID) -> int:
    """Give out the dialogues of the run's project as before any order; returns how many changed their place."""
    return restore_queue(project=run.project, actor=actor, request_id=request_id)


@transaction.atomic
def label_by_machine(*, run: ScoringRun, actor: User | None, batch_id: UUID, choice: LabelChoice) -> Batch:
    """Seal a batch of the assessor's labels, which controllers then sample and accept or return.

    Only dialogues that nobody has begun and that are in no batch. The same batch_id again returns the first batch.
    Raises Invalid (options, least_probability, most), Refusal no_assessments, no_checked_question, nothing_to_label,
    id_in_use.
    """
    check_has_assessments(run)
    _check_choice(choice)
    source = MachineSource(run.pk, run.model.slug if run.model else run.base, str(run.description["version"]))
    request: dict[str, Any] = {"run": str(run.pk), **asdict(choice)}
    labels = [
        MachineLabel(one.dialogue, choice.options[str(one.label)], one.probability)
        for one in untouched_assessments(run.project, assessments_of(run))
        if str(one.label) in choice.options and one.probability >= choice.least_probability
    ]
    return create_machine_batch(
        project=run.project,
        actor=actor,
        batch_id=batch_id,
        source=source,
        labels=labels[: choice.most],
        request=request,
    )


def check_has_assessments(run: ScoringRun) -> None:
    """Raise Refusal no_assessments unless the run's scores are an assessor's, of a labelling project."""
    if not has_assessments(run):
        raise Refusal(
            "no_assessments",
            _("These scores have no class probabilities of dialogues that people label."),
            _("Use a finished run of a quality assessor in a labelling project."),
        )


def _check_choice(choice: LabelChoice) -> None:
    if not choice.options:
        raise Invalid(
            _("Every class stays with people, so there is nothing to label."),
            _("Choose the answer of at least one class."),
            field="options",
        )
    if not 0 <= choice.least_probability <= 1:
        raise Invalid(_("A probability is between 0 and 1."), field="least_probability")
    if not 1 <= choice.most <= MOST_LABELS:
        raise Invalid(_("A batch has between 1 and 100,000 dialogues."), field="most")
