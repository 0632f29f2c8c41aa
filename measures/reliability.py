"""Which participants can tell ordinary systems from a degraded one (Ji et al., 2022, section 3.2)."""

from collections import defaultdict
from collections.abc import Collection, Hashable
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import Floats, Ints
from measures.rated_dialogues import RatedDialogues

THRESHOLD = 0.05
EXACT_UP_TO = 8  # values of the smaller sample; scipy's rule for method="auto"


@dataclass(frozen=True, slots=True)
class Reliability:
    """One participant's test: p and the number of ratings on each side.

    p is None if there is nothing to compare: no rating of the degraded system, none of an ordinary one, or all equal.
    """

    participant: Hashable
    p: float | None
    degraded: int
    ordinary: int

    def passes(self, threshold: float = THRESHOLD) -> bool:
        """Whether p is below the threshold. Nobody passes without a p."""
        return self.p is not None and self.p < threshold


def reliability_tests(dialogues: RatedDialogues, statements: Collection[str]) -> tuple[Reliability, ...]:
    """The test of every participant, in their order, over all their assignments.

    A one-sided Mann-Whitney U test of degraded < ordinary over the scores of these statements, as scipy does it: exact
    for small samples without ties, otherwise the normal approximation with continuity correction.
    """
    columns = [place for place, name in enumerate(dialogues.statements) if name in statements]
    scores = dialogues.scores[:, columns]
    sides = [
        _values_by_participant(scores, dialogues, rows)
        for rows in (dialogues.is_degraded, ~dialogues.is_degraded)
    ]
    p_values = one_sided_p_values(list(zip(*sides, strict=True)))
    return tuple(
        Reliability(name, p, low.size, high.size)
        for name, p, low, high in zip(dialogues.participants, p_values, *sides, strict=True)
    )


def one_sided_p_values(samples: list[tuple[Floats, Floats]]) -> list[float | None]:
    """The p of Mann-Whitney's test that the first sample is lower, for each pair of samples.

    Pairs of equal sizes are tested together. None for an empty sample and for pairs in which all values are equal.
    """
    from scipy.stats import mannwhitneyu  # 0.7 s to import, which every process would take to start

    groups: dict[tuple[int, int, bool], list[int]] = defaultdict(list)
    for place, (low, high) in enumerate(samples):
        values = np.concatenate([low, high])
        distinct = np.unique(values).size
        if low.size and high.size and distinct > 1:
            is_exact = min(low.size, high.size) <= EXACT_UP_TO and distinct == values.size
            groups[low.size, high.size, is_exact].append(place)
    p_values: list[float | None] = [None] * len(samples)
    for (_, _, is_exact), places in groups.items():
        low, high = (np.stack([samples[place][side] for place in places]) for side in (0, 1))
        method = "exact" if is_exact else "asymptotic"
        tested = mannwhitneyu(low, high, alternative="less", method=method, axis=1).pvalue
        for place, p in zip(places, tested, strict=True):
            p_values[place] = float(p)
    return p_values


def _values_by_participant(
    scores: Floats, dialogues: RatedDialogues, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> list[Floats]:
    """The known scores of these rows, one array per participant."""
    chosen, owner = scores[rows], dialogues.participant[rows]
    owners: Ints = np.repeat(owner, chosen.shape[1])
    values = chosen.ravel()
    known = np.isfinite(values)
    owners, values = owners[known], values[known]
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners[order], np.arange(1, len(dialogues.participants)))
    return np.split(values[order], bounds) if dialogues.participants else []
