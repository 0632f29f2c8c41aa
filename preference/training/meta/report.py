"""The whole report of a meta-evaluation as JSON values; every estimate is {"value", "low", "high", "n"}."""

from __future__ import annotations

from collections.abc import Sequence

from preference.training.common.messages import gettext as _
from preference.training.meta.comparisons import comparison_figures
from preference.training.meta.data import EvaluatorResult, JudgedReply
from preference.training.meta.people import label_figures, people_figures, people_label_figures
from preference.training.meta.scores import (
    RANKED_BY,
    Figures,
    Resampling,
    differences,
    evaluator_figures,
    histories,
    rank_evaluators,
)


def build_report(
    replies: Sequence[JudgedReply], results: Sequence[EvaluatorResult], resampling: Resampling
) -> Figures:
    """results: with the scores of all replies, in their order, under different names.

    `evaluators` are in the order given, `ranking` has their names from best to worst by Spearman's ρ. Sections that the
    data do not allow are None. The key `probes` is left to the caller, who has the evaluators themselves.
    """
    evaluators = [evaluator_figures(result, replies, resampling) for result in results]
    for figures, result in zip(evaluators, results, strict=True):
        figures["labels"] = label_figures(result, replies, resampling)
        figures["comparisons"] = comparison_figures(result, replies, resampling)
    return {
        "n_rows": len(replies),
        "n_judged": sum(each.reply.human is not None for each in replies),
        "n_histories": len(set(histories(replies))),
        "n_systems": len({each.system for each in replies} - {""}),
        "seed": resampling.seed,
        "replicates": resampling.replicates,
        "ranked_by": RANKED_BY,
        "ranking": rank_evaluators(evaluators),
        "evaluators": evaluators,
        "differences": differences(results, replies, resampling),
        "people": people_figures(replies, results, resampling),
        "people_labels": people_label_figures(replies, results, resampling),
        "notes": _notes(replies, evaluators),
    }


def _notes(replies: Sequence[JudgedReply], evaluators: Sequence[Figures]) -> list[str]:
    notes = []
    human = [each.reply.human for each in replies if each.reply.human is not None]
    if len(human) < len(replies):
        notes.append(
            _("%(count)s of %(total)s rows have no human score.")
            % {"count": len(replies) - len(human), "total": len(replies)}
        )
    if human and min(human) == max(human):
        notes.append(_("All human scores are equal, so that nothing can correlate with them."))
    if len(set(histories(replies))) < len(replies):
        notes.append(_("Several replies share a history; intervals resample histories, not replies."))
    useless = [figures["name"] for figures in evaluators if figures["n_scored"] == 0]
    return notes + [_("%(name)s scored no reply.") % {"name": name} for name in useless]
