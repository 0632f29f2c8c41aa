"""Decides whether a sample accepts or returns its batch, possibly before all of it is judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from measures.acceptance import Share, Stratum, exact_fraction, passes, stratified_share


class BatchVerdict(StrEnum):
    """OPEN: the rest of the sample can still lead to either decision."""

    ACCEPT = "accept"
    RETURN = "return"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ClassTally:
    """One class. sample: items drawn. judged: of these, so far. correct: of the judged. population: of the batch."""

    label: str
    sample: int
    judged: int
    correct: int
    population: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.correct <= self.judged <= self.sample:
            raise ValueError(
                f"{self.correct} correct of {self.judged} judged of {self.sample} is impossible."
            )

    @property
    def at_most(self) -> int:
        """The number of correct items if the rest turns out correct."""
        return self.correct + self.sample - self.judged


def batch_verdict(
    tallies: Sequence[ClassTally], *, overall: Share, per_class: Share | None = None, weighted: bool = False
) -> BatchVerdict:
    """Accept if the overall accuracy is at least `overall`, and that of each class in the sample at least `per_class`.

    weighted: whether the sample was drawn by class; then classes are weighted by their population.
    Accepts early if the batch passes even if the rest is wrong, and returns it early if it fails even if the rest is
    correct. OPEN without a sample.
    """
    if not any(tally.sample for tally in tallies):
        return BatchVerdict.OPEN
    if _passes(tallies, [tally.correct for tally in tallies], overall, per_class, weighted):
        return BatchVerdict.ACCEPT
    if not _passes(tallies, [tally.at_most for tally in tallies], overall, per_class, weighted):
        return BatchVerdict.RETURN
    return BatchVerdict.OPEN


def _passes(
    tallies: Sequence[ClassTally],
    correct: Sequence[int],
    overall: Share,
    per_class: Share | None,
    weighted: bool,
) -> bool:
    pairs = list(zip(tallies, correct, strict=True))
    if weighted:
        share = stratified_share([Stratum(tally.population, tally.sample, right) for tally, right in pairs])
        enough = share is not None and share >= exact_fraction(overall)
    else:
        enough = passes(sum(correct), sum(tally.sample for tally in tallies), overall)
    if per_class is None:
        return enough
    return enough and all(passes(right, tally.sample, per_class) for tally, right in pairs if tally.sample)
