"""Compares systems with each other, statements over systems, and two runs (Ji et al., 2022, section 4.2)."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import Floats
from measures.correlation import kendall, pearson, spearman
from measures.proportion import Proportion, proportion
from measures.rated_dialogues import Bools, RatedDialogues, dialogue_means
from measures.reliability import one_sided_p_values
from measures.system_scores import OVERALL, SystemScores


@dataclass(frozen=True, slots=True)
class PairTest:
    """The one-sided test that `better` scores higher than `worse`. None if a side is empty or all values are equal."""

    better: str
    worse: str
    p: float | None


def pairwise_tests(dialogues: RatedDialogues, z: Floats, rows: Bools) -> tuple[PairTest, ...]:
    """Mann-Whitney's test on the mean z of each dialogue, for every ordered pair of ordinary systems (Figure 3).

    z: standardised scores, shape (dialogues, statements). rows: which dialogues count, shape (dialogues,).
    """
    means = dialogue_means(z)
    counted = rows & np.isfinite(means)
    by_system = {
        name: means[counted & (dialogues.system == dialogues.systems.index(name))]
        for name in dialogues.ordinary_systems
    }
    pairs = list(itertools.permutations(by_system, 2))
    p_values = one_sided_p_values([(by_system[worse], by_system[better]) for better, worse in pairs])
    return tuple(PairTest(better, worse, p) for (better, worse), p in zip(pairs, p_values, strict=True))


@dataclass(frozen=True, slots=True)
class Correlations:
    """Pearson's r, Spearman's ρ and Kendall's τ_b; None for fewer than two systems or without variance."""

    pearson: float | None
    spearman: float | None
    kendall: float | None


def correlations(x: Sequence[float | None], y: Sequence[float | None]) -> Correlations:
    """The correlations of two scores over systems. Systems of which one score is None are left out."""
    return Correlations(*(measure(x, y, replicates=0).value for measure in (pearson, spearman, kendall)))


def statement_correlations(scores: Sequence[SystemScores]) -> dict[tuple[str, str], Correlations]:
    """The correlation of every two statements, and of each with the overall score, over systems (Table 7)."""
    names = score_names(scores)
    columns = {name: [each.value(name) for each in scores] for name in names}
    return {
        (one, other): correlations(columns[one], columns[other])
        for one, other in itertools.combinations(names, 2)
    }


@dataclass(frozen=True, slots=True)
class Replication:
    """How far two runs agree over the systems that both have ratings of.

    by_score: by statement and OVERALL. same_conclusions: by significance level, the pairs of systems of which both runs
    say the same: the first is better, the second is better, or no significant difference.
    """

    systems: tuple[str, ...]
    by_score: Mapping[str, Correlations]
    same_conclusions: Mapping[float, Proportion]


def replication(
    one: Sequence[SystemScores],
    other: Sequence[SystemScores],
    tests: tuple[Sequence[PairTest], Sequence[PairTest]],
    levels: Sequence[float] = (0.05, 0.1),
) -> Replication:
    """Compare two runs by their scores and their pairwise tests (Table 3, last row; section 4.2)."""
    first, second = ({each.system: each for each in scores if each.overall.n} for scores in (one, other))
    systems = tuple(name for name in first if name in second)
    shared = [name for name in score_names(one) if name in score_names(other)]
    by_score = {
        name: correlations(
            [first[system].value(name) for system in systems],
            [second[system].value(name) for system in systems],
        )
        for name in shared
    }
    return Replication(
        systems, by_score, {level: _same_conclusions(systems, tests, level) for level in levels}
    )


def score_names(scores: Sequence[SystemScores]) -> list[str]:
    """OVERALL and the statements, in order; without systems only OVERALL."""
    return [OVERALL, *(scores[0].by_statement if scores else ())]


def _same_conclusions(
    systems: Sequence[str], tests: tuple[Sequence[PairTest], Sequence[PairTest]], level: float
) -> Proportion:
    significant = [
        {(test.better, test.worse) for test in run if test.p is not None and test.p < level} for run in tests
    ]
    pairs = list(itertools.combinations(systems, 2))
    same = sum(
        all((pair in significant[0]) == (pair in significant[1]) for pair in ((a, b), (b, a)))
        for a, b in pairs
    )
    return proportion(same, len(pairs))
