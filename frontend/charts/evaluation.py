"""Evaluations of models: several side by side, and one in full.

preference.training.joint.evaluation writes the reports. Figures may be missing: a model without a preference head has
no preference figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dialogues.models import Action
from frontend.charts.chart import Cell, Chart, is_few
from frontend.pages.learning.training_form import source_name
from plots.marks import Mark
from plots.rows import draw_estimates
from preference.evaluation.models import Evaluation

Figures = Mapping[str, Any]
RANKED_BY: Final = {
    "preference": gettext_lazy("by preference score"),
    "generation": gettext_lazy("by generation probability"),
}
RANKINGS: Final = {"p_at_1": "P@1", "mrr": "MRR", "map": "MAP"}
PAIRS: Final[dict[str, str | Promise]] = {
    "human_model": gettext_lazy("human > model"),
    "human_random": gettext_lazy("human > random"),
    "model_random": gettext_lazy("model > random"),
}
PAIRED_BY: Final = {"preference": "pairs", "generation": "generation_pairs"}
BASELINES: Final = {
    "chance": gettext_lazy("at random"),
    "longest": gettext_lazy("the longest"),
    "shortest": gettext_lazy("the shortest"),
    "question": gettext_lazy("one that asks"),
    "improbable": gettext_lazy("the least probable"),
}
CONTROLS: Final = {
    "lexical": gettext_lazy("by n-grams without the context"),
    "over_lexical": gettext_lazy("model − n-grams"),
    "other_context": gettext_lazy("by the model, with contexts of other dialogues"),
    "over_other_context": gettext_lazy("own context − other context"),
}
GROUPS: Final = {
    "by_domain": gettext_lazy("Where does it rank well, by domain?"),
    "by_language": gettext_lazy("Where does it rank well, by language?"),
    "by_action": gettext_lazy("Where does it rank well, by what people did?"),
}
DIGITS = 4  # in files
SHOWN_DIGITS: Final = 3  # on pages


@dataclass(frozen=True, slots=True)
class ReportedEstimate:
    """A figure of a report with its 95 % interval. n: how many turns or pairs it rests on; 0 if the report lacks it."""

    value: float
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        return f"{self.value:.{SHOWN_DIGITS}f}"

    @property
    def interval(self) -> str:
        return "" if self.low is None or self.high is None else f"{self.low:.3f}–{self.high:.3f}"

    @property
    def rests_on_few(self) -> bool:
        return self.n > 0 and is_few(self.n)

    def mark(self, where: str) -> Mark:
        interval = None if self.low is None or self.high is None else (self.low, self.high)
        words = f" ({self.interval})" if interval else ""
        title = f"{where}: {self}{words}, n = {self.n}"
        return Mark(self.value, title, interval, is_faint=self.rests_on_few)

    def cells(self) -> list[Cell]:
        rounded = [
            None if bound is None else round(bound, DIGITS) for bound in (self.value, self.low, self.high)
        ]
        return [*rounded, self.n]


def find_estimate(figures: Figures, *path: str) -> ReportedEstimate | None:
    """The figure at this path of a report; None if it is missing."""
    figure: Any = figures
    for name in path:
        figure = figure.get(name) if isinstance(figure, Mapping) else None
    if not isinstance(figure, Mapping) or figure.get("value") is None:
        return None
    return ReportedEstimate(figure["value"], figure.get("low"), figure.get("high"), figure.get("n") or 0)


def overall(evaluation: Evaluation) -> Figures:
    figures: Figures = evaluation.report.get("overall", {})
    return figures


def name_of(evaluation: Evaluation) -> str:
    return evaluation.model.slug if evaluation.model else source_name(evaluation.base)


HEAD_CELLS: Final = (gettext_lazy("value"), gettext_lazy("95 % from"), gettext_lazy("95 % to"), "n")


def estimate_head(*first: str) -> list[str]:
    return [*first, *(str(name) for name in HEAD_CELLS)]


def _names(table: Mapping[str, str | Promise]) -> list[str]:
    return [str(name) for name in table.values()]


def _turns(n: int) -> str:
    return ngettext("n = %(n)s turn", "n = %(n)s turns", n) % {"n": intcomma(n)}


# ---- models side by side ---------------------------------------------------------------------------------------------


def list_measures(figures: Figures, by: str) -> list[tuple[str, ReportedEstimate | None]]:
    """Every measure by one of the two scores. by: a key of RANKED_BY."""
    ranked = [(short, find_estimate(figures, by, key)) for key, short in RANKINGS.items()]
    return [
        *ranked,
        *((str(pair), find_estimate(figures, PAIRED_BY[by], key)) for key, pair in PAIRS.items()),
    ]


def find_likelihood(figures: Figures) -> tuple[str, ReportedEstimate | None]:
    return _("NLL (nats per token)"), find_estimate(figures, "nll")


def list_all_measures(figures: Figures) -> list[tuple[str, ReportedEstimate | None]]:
    measures = [
        (f"{name}, {score}", estimate)
        for by, score in RANKED_BY.items()
        for name, estimate in list_measures(figures, by)
    ]
    return [*measures, find_likelihood(figures)]


def build_matrix(
    rows: Sequence[Evaluation],
) -> list[tuple[str, list[tuple[str, list[ReportedEstimate | None]]]]]:
    """Groups of rows, a row for each measure and a column for each evaluation, without empty rows."""
    groups = [
        (str(title), [list_measures(overall(row), by) for row in rows]) for by, title in RANKED_BY.items()
    ]
    groups.append((_("likelihood"), [[find_likelihood(overall(row))] for row in rows]))
    groups_of_rows = [
        (
            title,
            [(cells[0][0], [estimate for _name, estimate in cells]) for cells in zip(*columns, strict=True)],
        )
        for title, columns in groups
    ]
    return [(title, [line for line in lines if any(line[1])]) for title, lines in groups_of_rows]


def draw_comparison(rows: Sequence[Evaluation]) -> Chart:
    """P@1 of several models. rows: evaluations on the same split of the same snapshot."""
    title = _("Which model ranks the human reply first?")
    names = [name_of(row) for row in rows]
    x = _("P@1: share of turns in which it does")
    svg = _draw_dots(names, [overall(row) for row in rows], ("p_at_1",), x, title)
    cells: list[list[Cell]] = [
        [name, measure, *estimate.cells()]
        for name, row in zip(names, rows, strict=True)
        for measure, estimate in list_all_measures(overall(row))
        if estimate
    ]
    note = f"{_turns(max([row.report.get('n_turns') or 0 for row in rows] + [0]))} · {_('lines: 95 % intervals')}"
    return Chart(
        "p-at-1",
        title,
        note,
        estimate_head(_("model"), _("measure")),
        cells,
        svg,
        _names(RANKED_BY),
        decimals=SHOWN_DIGITS,
    )


def _draw_dots(
    names: Sequence[str], figures: Sequence[Figures], path: tuple[str, ...], x: str, title: str
) -> str:
    """For each name a dot by preference score and one by generation probability; empty if all are missing."""
    found = [[find_estimate(one, by, *path) for one in figures] for by in RANKED_BY]
    marks = [
        [one.mark(f"{name} {by}") if one else None for name, one in zip(names, series, strict=True)]
        for by, series in zip(RANKED_BY.values(), found, strict=True)
    ]
    if not any(one for series in found for one in series):
        return ""
    return draw_estimates(names, *marks, x=x, description=title)


# ---- one model in full -----------------------------------------------------------------------------------------------


def draw_ranking(report: Figures) -> Chart:
    """P@1, MRR and MAP by both scores, their paired difference, controls, and baselines without a model."""
    figures, title = report.get("overall", {}), _("How high does it rank the human reply?")
    by_measure = [{by: get_figure(figures, by, key) for by in RANKED_BY} for key in RANKINGS]
    svg = _draw_dots(list(RANKINGS.values()), by_measure, (), _("from 0 to 1, 1: always first"), title)
    scores = {
        **RANKED_BY,
        "difference": _("difference"),
        "generation_sum": _("by probability of the whole reply"),
    }
    rows: list[list[Cell]] = [
        [_("%(measure)s, %(variant)s") % {"measure": short, "variant": by}, *estimate.cells()]
        for name, by in scores.items()
        for key, short in RANKINGS.items()
        if (estimate := find_estimate(figures, name, key))
    ]
    rows += [
        [_("%(measure)s, %(variant)s") % {"measure": "P@1", "variant": name}, *estimate.cells()]
        for key, name in CONTROLS.items()
        if (estimate := find_estimate(report, "controls", key, "p_at_1"))
    ]
    rows += [
        [_("%(measure)s, %(variant)s") % {"measure": "P@1", "variant": name}, *estimate.cells()]
        for key, name in BASELINES.items()
        if (estimate := find_estimate(figures, "baselines", key))
    ]
    n = figures.get("n_turns") or 0
    return Chart(
        "ranking",
        title,
        _intervals(n),
        estimate_head(_("measure")),
        rows,
        svg,
        _names(RANKED_BY),
        decimals=SHOWN_DIGITS,
    )


def get_figure(figures: Figures, *path: str) -> Any:
    """The raw figure at this path of a report; {} if it is missing."""
    for name in path:
        figures = figures.get(name, {})
    return figures


def draw_pairs(report: Figures) -> Chart:
    """How often the better of two replies is scored higher."""
    figures, title = report.get("overall", {}), _("Which of two replies does it prefer?")
    by_pair = [{by: get_figure(figures, PAIRED_BY[by], key) for by in RANKED_BY} for key in PAIRS]
    svg = _draw_dots(_names(PAIRS), by_pair, (), _("share of pairs in this order"), title)
    rows: list[list[Cell]] = [
        [f"{pair}, {by}", *estimate.cells()]
        for name, by in RANKED_BY.items()
        for key, pair in PAIRS.items()
        if (estimate := find_estimate(figures, PAIRED_BY[name], key))
    ]
    note = _("human: what was sent; model: another candidate; random: a reply of another dialogue")
    return Chart(
        "pairs", title, note, estimate_head(_("pair")), rows, svg, _names(RANKED_BY), decimals=SHOWN_DIGITS
    )


def draw_group(report: Figures, name: str) -> Chart:
    """P@1 by domain, language or action."""
    # Sort the largest first; JSON columns do not keep the order of keys.
    ordered = sorted(report.get(name, {}).items(), key=lambda estimate: -(estimate[1].get("n_turns") or 0))
    groups, title = dict(ordered), str(GROUPS[name])
    names = [_group_name(name, key) for key in groups]
    svg = _draw_dots(names, list(groups.values()), ("p_at_1",), "P@1", title)
    rows: list[list[Cell]] = [
        [f"{group}, {by}", *estimate.cells()]
        for group, figures in zip(names, groups.values(), strict=True)
        for score, by in RANKED_BY.items()
        if (estimate := find_estimate(figures, score, "p_at_1"))
    ]
    n = sum(figures.get("n_turns") or 0 for figures in groups.values())
    return Chart(
        name.replace("_", "-"),
        title,
        _intervals(n),
        estimate_head("P@1"),
        rows,
        svg,
        _names(RANKED_BY),
        decimals=SHOWN_DIGITS,
    )


def _group_name(name: str, key: str) -> str:
    if name == "by_action" and key in Action.values:
        return str(Action(key).label)
    return key or _("not stated")


def _intervals(n: int) -> str:
    return f"{_turns(n)} · {_('lines: 95 % intervals')}"


def draw_report(report: Figures) -> list[Chart]:
    """All charts of a report; a chart of groups only if there are several groups."""
    groups = [draw_group(report, name) for name in GROUPS if len(report.get(name, {})) > 1]
    return [draw_ranking(report), draw_pairs(report), *groups]
