"""How far a sample is judged, and what it says about its batch."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accounts.models import User
from annotation.batch_review.models import Sample, SampleItem
from annotation.batch_review.selectors.access import sample_schemas
from annotation.batch_review.selectors.batch_plan import deciding_percents
from annotation.batch_review.selectors.eligibility import labelled_by
from annotation.batch_review.selectors.reviewed_items import (
    JUDGEMENTS_WITHOUT_TEXT,
    ReviewedItem,
    attach_judgements,
)
from annotation.batch_review.selectors.visibility import visible_items
from annotation.labelling.selectors.schemas import load_schema
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
    percents = deciding_percents(sample)
    classes = exact_fraction(str(percents.classes / 100)) if percents.classes else None
    return Thresholds(exact_fraction(str(percents.overall / 100)), classes)


@dataclass(frozen=True, slots=True)
class SampleProgress:
    """What the judgements so far say about the batch. accuracy: of the batch, estimated from what is judged."""

    tallies: list[ClassTally]
    decision: BatchVerdict
    accuracy: Estimate

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


def smallest_class_with_spare(threshold: Fraction) -> int | None:
    """How many labels of a class a sample needs before one of them may be wrong; None if all have to be right."""
    return math.ceil(1 / (1 - threshold)) if threshold < 1 else None


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many labels of a sample may be wrong if neither the overall rule nor that of a class is to fail.

    classes: of each class; empty if classes are not checked, or how many of each were drawn is a secret.
    """

    total: int
    classes: dict[str, int]


def hides_classes(sample: Sample, progress: SampleProgress) -> bool:
    """Whether the drawn classes are a secret: those of a blind sample, until all of it is judged or its round ends."""
    return sample.is_blind and progress.judged < progress.sample and sample.round.ended_at is None


def allowance_of(progress: SampleProgress, thresholds: Thresholds, *, hides_drawn: bool) -> Allowance:
    """The total never exceeds what the class rule allows if all were of one class: that reveals no class."""
    total = wrong_allowed(progress.sample, thresholds.overall)
    share = thresholds.classes
    if share is None:
        return Allowance(total, {})
    if hides_drawn:
        return Allowance(min(total, wrong_allowed(progress.sample, share)), {})
    classes = {tally.label: wrong_allowed(tally.sample, share) for tally in progress.tallies if tally.sample}
    return Allowance(min(total, sum(classes.values())), classes)


def class_estimate(tally: ClassTally, tallies: Sequence[ClassTally], *, hides_drawn: bool) -> Estimate:
    """The accuracy of a class in the batch, by the method of the whole batch. tallies: of all classes.

    While its size is a secret, the class counts as large as it can be: everything that is not judged in another class.
    The interval then reveals nothing, and equals that of the batch if there is only one class. It is mostly wider
    than with the true size, but not always: the ends of exact intervals do not move steadily with the population.
    """
    population = _largest_size(tally, tallies) if hides_drawn else tally.population
    return batch_accuracy(tally.correct, tally.judged, population)


def _largest_size(tally: ClassTally, tallies: Sequence[ClassTally]) -> int:
    elsewhere = sum(other.judged for other in tallies if other.label != tally.label)
    return sum(other.population for other in tallies) - elsewhere


def acceptance_curve(sample: Sample, size: int, wrong: Sequence[int]) -> tuple[PlanPoint, ...]:
    """Probability that a sample of this size accepts a batch with so many wrong labels, by count."""
    accuracies = [Fraction(sample.population - n, sample.population) for n in wrong]
    return operating_characteristic(sample.population, size, thresholds_of(sample).overall, accuracies)


# ---- for one controller ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ControllerClass:
    """A class as one controller sees it. drawn, population, spare: None while they are a secret.

    spare: how many more of the class may be wrong, None also if classes are not checked.
    """

    label: str
    estimate: Estimate
    judged: int
    right: int
    drawn: int | None = None
    population: int | None = None
    spare: int | None = None


@dataclass(frozen=True, slots=True)
class ControllerProgress:
    """A sample's progress as one controller sees it.

    cells: one character per dialogue, in the order drawn: "." open, "r" and "w" judged by the controller, "R" and "W"
    by somebody else, "o" the controller's own work. left: dialogues that the controller can still judge. spare: how
    many more may be wrong, None if the sample is weighted by class. failing: classes that can no longer pass.
    classes: in a blind sample all that the question has, as those that occur would help to guess a label.
    """

    progress: SampleProgress
    thresholds: Thresholds
    cells: str
    left: int
    spare: int | None
    failing: list[str]
    classes: list[ControllerClass]


def controller_progress(controller: User, sample: Sample) -> ControllerProgress:
    items = list(SampleItem.objects.filter(sample=sample).order_by("place"))
    reviewed = attach_judgements(items, JUDGEMENTS_WITHOUT_TEXT)
    progress = sample_progress(sample, visible_items(controller, sample, reviewed))
    thresholds, cells = thresholds_of(sample), _cells(controller, sample, reviewed)
    hides_drawn = hides_classes(sample, progress)
    allowance = allowance_of(progress, thresholds, hides_drawn=hides_drawn)
    return ControllerProgress(
        progress,
        thresholds,
        cells,
        cells.count(OPEN),
        None if sample.is_stratified else _spare(progress, thresholds, allowance),
        _failing_classes(progress, thresholds),
        _blind_classes(sample, progress) if hides_drawn else _known_classes(progress, allowance),
    )


def _blind_classes(sample: Sample, progress: SampleProgress) -> list[ControllerClass]:
    """Every class of the question, in its order, with what is judged."""
    judged = {tally.label: tally for tally in progress.tallies if tally.judged}
    labels = dict.fromkeys([*question_classes(sample), *judged])
    tallies = [judged.get(label, ClassTally(label, 0, 0, 0)) for label in labels]
    return [
        ControllerClass(
            tally.label,
            class_estimate(tally, progress.tallies, hides_drawn=True),
            tally.judged,
            tally.correct,
        )
        for tally in tallies
    ]


def _known_classes(progress: SampleProgress, allowance: Allowance) -> list[ControllerClass]:
    return [
        ControllerClass(
            tally.label,
            class_estimate(tally, progress.tallies, hides_drawn=False),
            tally.judged,
            tally.correct,
            tally.sample,
            tally.population,
            _class_spare(tally, allowance),
        )
        for tally in progress.tallies
    ]


def question_classes(sample: Sample) -> list[str]:
    """The classes of the checked question, whether or not a label has them; none if all answers are checked."""
    questions = [load_schema(row).by_key.get(sample.question) for row in sample_schemas(sample)]
    return [str(option.value) for question in questions if question for option in question.options]


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


def _spare(progress: SampleProgress, thresholds: Thresholds, allowance: Allowance) -> int:
    wrong = progress.judged - progress.right
    if not allowance.classes:
        return allowance.total - wrong
    overall = wrong_allowed(progress.sample, thresholds.overall) - wrong
    by_class = [
        min(_class_spare(tally, allowance) or 0, tally.sample - tally.judged) for tally in progress.tallies
    ]
    return min(overall, sum(by_class))


def _class_spare(tally: ClassTally, allowance: Allowance) -> int | None:
    allowed = allowance.classes.get(tally.label)
    return None if allowed is None else max(0, allowed - (tally.judged - tally.correct))


def _failing_classes(progress: SampleProgress, thresholds: Thresholds) -> list[str]:
    if thresholds.classes is None:
        return []
    share = thresholds.classes
    return [
        tally.label
        for tally in progress.tallies
        if tally.sample and not passes(tally.at_most, tally.sample, share)
    ]
