"""Correlation of each evaluator with people, and whether one evaluator is better than another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from measures.bootstrap import REPLICATES, SEED
from measures.correlation import kendall, pearson, spearman
from measures.paired_bootstrap import Measure, PairedDifference, correlation_difference
from measures.paired_systems import holm
from measures.system_correlation import system_correlation
from preference.training.meta.data import EvaluatorResult, JudgedReply

Figures = dict[str, Any]
MEASURES: Mapping[Measure, Any] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
RANKED_BY: Measure = "spearman"


@dataclass(frozen=True, slots=True)
class Resampling:
    """Of all intervals of one report. Replies to the same history are resampled together."""

    replicates: int = REPLICATES
    seed: int = SEED

    def options(self) -> dict[str, int]:
        """Arguments of every measure."""
        return {"replicates": self.replicates, "seed": self.seed}


def histories(replies: Sequence[JudgedReply]) -> list[tuple[str, ...]]:
    """The cluster of each reply. A reply without a history stands alone."""
    return [each.reply.history or (each.reply.id,) for each in replies]


def evaluator_figures(
    result: EvaluatorResult, replies: Sequence[JudgedReply], resampling: Resampling
) -> Figures:
    """n_scored, n_unscored with the reasons, the three correlations, and by system if the replies have systems."""
    human, clusters = [each.reply.human for each in replies], histories(replies)
    reasons = Counter(score.reason for score in result.scores if score.value is None)
    figures: Figures = {
        "name": result.name,
        "description": result.description,
        "n_scored": len(replies) - reasons.total(),
        "n_unscored": reasons.total(),
        "reasons": dict(reasons.most_common()),
    }
    for name, measure in MEASURES.items():
        estimate = measure(result.values, human, clusters=clusters, **resampling.options())
        figures[name] = estimate.as_dict()
    if any(each.system for each in replies):
        figures["systems"] = _system_figures(result, replies)
    return figures


def _system_figures(result: EvaluatorResult, replies: Sequence[JudgedReply]) -> Figures:
    human, systems = [each.reply.human for each in replies], [each.system for each in replies]
    found = system_correlation(result.values, human, systems)
    return {
        "means": [
            {"system": each.system, "score": each.score, "human": each.human, "n": each.n}
            for each in found.means
        ],
        **{name: getattr(found, name).as_dict() for name in MEASURES},
    }


def rank_evaluators(evaluators: Sequence[Figures]) -> list[str]:
    """Names by Spearman's ρ, the best first; those without one last."""

    def sort_key(figures: Figures) -> tuple[bool, float]:
        value = figures[RANKED_BY]["value"]
        return value is None, -(value or 0.0)

    return [figures["name"] for figures in sorted(evaluators, key=sort_key)]


def differences(
    results: Sequence[EvaluatorResult], replies: Sequence[JudgedReply], resampling: Resampling
) -> list[Figures]:
    """Every two evaluators by every measure, on the replies that both scored.

    p is two-sided; p_adjusted allows for the number of pairs compared by the same measure (Holm, 1979).
    """
    human, clusters = [each.reply.human for each in replies], histories(replies)
    rows: list[Figures] = []
    for name in MEASURES:
        pairs = list(combinations(results, 2))
        found = [
            correlation_difference(
                one.values, other.values, human, measure=name, clusters=clusters, **resampling.options()
            )
            for one, other in pairs
        ]
        adjusted = holm([each.p for each in found])
        rows += [
            {"measure": name, "one": one.name, "other": other.name, **difference_figures(each, p)}
            for (one, other), each, p in zip(pairs, found, adjusted, strict=True)
        ]
    return rows


def difference_figures(difference: PairedDifference, p_adjusted: float | None) -> Figures:
    """A paired difference as JSON values."""
    return {
        "value_of_one": difference.one,
        "value_of_other": difference.other,
        "difference": difference.difference.as_dict(),
        "p": difference.p,
        "p_adjusted": p_adjusted,
    }
