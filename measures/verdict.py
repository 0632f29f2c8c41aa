"""Whether a sample accepts or returns its batch, also before all of it is judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from measures.acceptance import Share, Stratum, exact, passes, stratified_share


class Decision(StrEnum):
    """OPEN: what is still to be judged may turn it either way."""

    ACCEPT = "accept"
    RETURN = "return"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ClassTally:
    """A class in the sample: how many were drawn, judged so far, and correct among these; its size in the batch."""

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
        """Correct when all that is left turns out correct."""
        return self.correct + self.sample - self.judged


def decision(
    tallies: Sequence[ClassTally], *, overall: Share, per_class: Share | None = None, weighted: bool = False
) -> Decision:
    """The verdict as far as it is decided: overall accuracy ≥ `overall`, and of each class drawn ≥ `per_class`.

    weighted: the sample was drawn by class, so the overall accuracy weighs classes by their population.
    Accepts once the rest could all be wrong, returns once the rest could all be right in vain. OPEN without a sample.
    """
    if not any(tally.sample for tally in tallies):
        return Decision.OPEN
    if _passes(tallies, [tally.correct for tally in tallies], overall, per_class, weighted):
        return Decision.ACCEPT
    if not _passes(tallies, [tally.at_most for tally in tallies], overall, per_class, weighted):
        return Decision.RETURN
    return Decision.OPEN


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
        enough = share is not None and share >= exact(overall)
    else:
        enough = passes(sum(correct), sum(tally.sample for tally in tallies), overall)
    if per_class is None:
        return enough
    return enough and all(passes(right, tally.sample, per_class) for tally, right in pairs if tally.sample)
