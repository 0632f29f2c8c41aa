"""How far a sample is judged, and what it says about its batch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accounts.models import User
from annotation.batch_review.models import Sample, SampleItem
from annotation.batch_review.selectors.eligibility import labelled_by
from annotation.batch_review.selectors.reviewed_items import (
    JUDGEMENTS_WITHOUT_TEXT,
    ReviewedItem,
    attach_judgements,
)
from annotation.batch_review.selectors.visibility import visible_items
from annotation.tasks.models.rounds import RoundState
from annotation.tasks.models.work import Task
from measures.acceptance import (
    PlanPoint,
    Stratum,
    acceptance_number,
    batch_accuracy,
    exact_fraction,
    operating_characteristic,
    passes,
    stratified_accuracy,
    stratified_share,
)
from measures.batch_verdict import BatchVerdict, ClassTally, batch_verdict
from measures.estimate import Estimate

OPEN, RIGHT, WRONG, THEIRS_RIGHT, THEIRS_WRONG, OWN = ".rwRWo"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The shares that must be right, exactly, from 0 to 1. classes: None if single classes are not checked."""

    overall: Fraction
    classes: Fraction | None


def thresholds_of(sample: Sample) -> Thresholds:
    """The thresholds of the plan with which the sample was drawn."""
    classes = exact_fraction(str(sample.class_percent / 100)) if sample.class_percent else None
    return Thresholds(exact_fraction(str(sample.overall_percent / 100)), classes)


@dataclass(frozen=True, slots=True)
class SampleProgress:
    """What the judgements so far say about the batch. accuracy: of the batch, estimated from what is judged."""

    tallies: list[ClassTally]
    decision: BatchVerdict
    accuracy: Estimate
    by_class: dict[str, Estimate]

    @property
    def sample(self) -> int:
        return sum(tally.sample for tally in self.tallies)

    @property
    def judged(self) -> int:
        return sum(tally.judged for tally in self.tallies)

    @property
    def right(self) -> int:
        return sum(tally.correct for tally in self.tallies)

    @property
    def is_early(self) -> bool:
        """Decided before all of the sample is judged."""
        return self.decision is not BatchVerdict.OPEN and self.judged < self.sample


def sample_progress(sample: Sample, reviewed: Sequence[ReviewedItem] | None = None) -> SampleProgress:
    """Three queries, or none if the reviewed items are given."""
    if reviewed is None:
        items = list(SampleItem.objects.filter(sample=sample))
        reviewed = attach_judgements(items, JUDGEMENTS_WITHOUT_TEXT)
    tallies, thresholds = tally_classes(sample, reviewed), thresholds_of(sample)
    return SampleProgress(
        tallies,
        batch_verdict(
            tallies,
            overall=thresholds.overall,
            per_class=thresholds.classes,
            weighted=sample.is_stratified,
        ),
        _accuracy(sample, tallies),
        {
            tally.label: batch_accuracy(tally.correct, tally.judged, tally.population)
            for tally in tallies
            if tally.sample
        },
    )


def tally_classes(sample: Sample, reviewed: Sequence[ReviewedItem]) -> list[ClassTally]:
    """Counts by the class of the label, in the order of the class names."""
    drawn, judged, right = Counter[str](), Counter[str](), Counter[str]()
    for entry in reviewed:
        drawn[entry.item.label] += 1
        judged[entry.item.label] += entry.is_right is not None
        right[entry.item.label] += bool(entry.is_right)
    names = sorted(sample.classes, key=str)
    return [ClassTally(name, drawn[name], judged[name], right[name], sample.classes[name]) for name in names]


def _accuracy(sample: Sample, tallies: Sequence[ClassTally]) -> Estimate:
    if sample.is_stratified:
        return stratified_accuracy(_strata(tallies))
    judged, right = sum(tally.judged for tally in tallies), sum(tally.correct for tally in tallies)
    return batch_accuracy(right, judged, sample.population)


def _strata(tallies: Sequence[ClassTally]) -> list[Stratum]:
    return [Stratum(tally.population, tally.judged, tally.correct) for tally in tallies]


def verdict_figures(progress: SampleProgress, sample: Sample) -> dict[str, Any]:
    """What a verdict rests on, as it is stored with it; shares are exact, as "numerator/denominator"."""
    share: Fraction | None = None
    if sample.is_stratified:
        share = stratified_share(_strata(progress.tallies))
    elif progress.judged:
        share = Fraction(progress.right, progress.judged)
    return {
        "right": progress.right,
        "judged": progress.judged,
        "sample": progress.sample,
        "share": None if share is None else f"{share.numerator}/{share.denominator}",
        "low": progress.accuracy.low,
        "high": progress.accuracy.high,
        "early": progress.is_early,
        "decision": progress.decision.value,
        "classes": [
            {"label": t.label, "sample": t.sample, "judged": t.judged, "right": t.correct, "population": t.population}
            for t in progress.tallies
        ],
    }  # fmt: skip


def wrong_allowed(sample: int, threshold: Fraction) -> int:
    """How many labels of a sample may be wrong."""
    return sample - acceptance_number(sample, threshold)


def acceptance_curve(sample: Sample, size: int, wrong: Sequence[int]) -> tuple[PlanPoint, ...]:
    """Probability that a sample of this size accepts a batch with so many wrong labels, by count."""
    accuracies = [Fraction(sample.population - n, sample.population) for n in wrong]
    return operating_characteristic(sample.population, size, thresholds_of(sample).overall, accuracies)


# ---- for one controller ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ControllerProgress:
    """A sample's progress as one controller sees it.

    cells: one character per dialogue, in the order drawn: "." open, "r" and "w" judged by the controller, "R" and "W"
    by somebody else, "o" the controller's own work. left: dialogues that the controller can still judge. spare: how
    many more may be wrong, None if the sample is weighted by class. failing: classes that can no longer pass.
    hides_drawn: how many dialogues of each class there are, and were drawn, is a secret.
    """

    progress: SampleProgress
    thresholds: Thresholds
    cells: str
    left: int
    spare: int | None
    failing: list[str]
    hides_drawn: bool


def controller_progress(controller: User, sample: Sample) -> ControllerProgress:
    items = list(SampleItem.objects.filter(sample=sample).order_by("place"))
    reviewed = attach_judgements(items, JUDGEMENTS_WITHOUT_TEXT)
    progress = sample_progress(sample, visible_items(controller, sample, reviewed))
    thresholds, cells = thresholds_of(sample), _cells(controller, sample, reviewed)
    return ControllerProgress(
        progress,
        thresholds,
        cells,
        cells.count(OPEN),
        None if sample.is_stratified else _spare(progress, thresholds),
        _failing_classes(progress, thresholds),
        sample.is_blind and sample.round.state == RoundState.IN_REVIEW,
    )


def count_left(controller: User, sample: Sample, reviewed: Sequence[ReviewedItem]) -> int:
    """Dialogues that the controller can still judge: neither their own work nor judged by enough others."""
    return _cells(controller, sample, reviewed).count(OPEN)


def _cells(controller: User, sample: Sample, reviewed: Sequence[ReviewedItem]) -> str:
    labelled = Task.objects.filter(labelled_by(controller), drawn__sample=sample)
    own_work = set(labelled.values_list("pk", flat=True))
    return "".join(
        _cell(entry, controller, sample, is_own_work=entry.item.task_id in own_work) for entry in reviewed
    )


def _cell(entry: ReviewedItem, controller: User, sample: Sample, *, is_own_work: bool) -> str:
    own = entry.only_by(controller).deciding
    if own:
        return RIGHT if own.is_right else WRONG
    if is_own_work:
        return OWN
    if len(entry.judgements) < (2 if sample.is_double else 1):
        return OPEN
    return THEIRS_RIGHT if entry.is_right else THEIRS_WRONG


def _spare(progress: SampleProgress, thresholds: Thresholds) -> int:
    wrong = progress.judged - progress.right
    return wrong_allowed(progress.sample, thresholds.overall) - wrong


def _failing_classes(progress: SampleProgress, thresholds: Thresholds) -> list[str]:
    if thresholds.classes is None:
        return []
    share = thresholds.classes
    return [
        tally.label
        for tally in progress.tallies
        if tally.sample and not passes(tally.at_most, tally.sample, share)
    ]
