"""Which of two models' candidates people take."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.authoring.selectors.model_comparison import ModelComparison, model_comparisons
from annotation.authoring.selectors.statistics import Statistics
from dialogues.models import Action
from frontend.charts import plots
from frontend.charts.chart import Cell, Chart
from frontend.charts.plots import Mark
from measures.estimate import Estimate
from measures.paired_comparison import ModelCandidates

NAME = "models"


def draw_model_comparison(statistics: Statistics) -> Chart:
    found = model_comparisons(statistics.project)
    sides = [(version, side) for one in found for version, side in _sides(one)]
    names = [str(Action.SELECT.label), str(Action.REVISE.label)]
    series = [
        [_mark(version, name, estimate) for version, estimate in column]
        for name, column in zip(
            names,
            ([(v, s.selected) for v, s in sides], [(v, s.revised) for v, s in sides]),
            strict=True,
        )
    ]
    title = _("Which model's candidates do people take?")
    svg = plots.draw_estimates([v for v, _s in sides], *series, x="%", description=title) if sides else ""
    shares = [_("taken (%)"), *(f"{name} (%)" for name in names)]
    head = [
        _("model"), _("compared with"), _("candidates shown"), *(cell for name in shares for cell in (name, "≥", "≤")),
        _("ignored (%)"), _("turns won"), _("won (%)"), "≥", "≤", _("won without preference (%)"),
        _("taken so many times as often"), "≥", "≤",
    ]  # fmt: skip
    return Chart(NAME, title, _note(found), head, [row for one in found for row in _rows(one)], svg, names)


def _sides(one: ModelComparison) -> list[tuple[str, ModelCandidates]]:
    return [(one.newer, one.paired_comparison.newer), (one.older, one.paired_comparison.older)]


def _rows(one: ModelComparison) -> list[list[Cell]]:
    found = one.paired_comparison
    expected = None if found.expected is None else round(100 * found.expected, 1)
    compared = [*_percent(found.share), expected, *_cells(found.ratio, 1, 2)]
    return [
        [one.newer, one.older, *_side(found.newer), *compared],
        [one.older, one.newer, *_side(found.older), *[None] * len(compared)],
    ]


def _side(side: ModelCandidates) -> list[Cell]:
    taken, ignored = [*map(_percent, (side.taken, side.selected, side.revised))], _percent(side.ignored)[0]
    return [side.shown, *(cell for cells in taken for cell in cells), ignored, side.won]


def _note(found: Sequence[ModelComparison]) -> str:
    if not found:
        return _(
            "The settings of the project can name a second model, which then writes half of the candidates."
        )
    one, paired_comparison = found[0], found[0].paired_comparison
    rests_on = ngettext(
        "n = %(n)d turn with candidates of both; nobody saw which wrote what.",
        "n = %(n)d turns with candidates of both; nobody saw which wrote what.",
        one.turns,
    ) % {"n": one.turns}
    if paired_comparison.share.value is None or paired_comparison.expected is None:
        return rests_on
    won = _(
        "The newer model, %(newer)s, won %(share)s of the %(decided)d turns in which a candidate was selected or "
        "revised; without a preference it would be %(expected).1f %%."
    ) % {
        "newer": one.newer,
        "share": _with_interval(paired_comparison.share, 100, 1, " %"),
        "decided": paired_comparison.decided,
        "expected": 100 * paired_comparison.expected,
    }
    if paired_comparison.ratio.value is None:
        return f"{won} {rests_on}"
    often = _("Each of its candidates was taken %(ratio)s times as often.") % {
        "ratio": _with_interval(paired_comparison.ratio, 1, 2)
    }
    return f"{won} {often} {rests_on}"


def _with_interval(one: Estimate, factor: float, digits: int, unit: str = "") -> str:
    value, low, high = _cells(one, factor, digits)
    return f"{value}{unit}" if low is None else f"{value}{unit} ({low}–{high})"


def _mark(version: str, name: str, one: Estimate) -> Mark | None:
    if one.value is None:
        return None
    interval = None if one.low is None or one.high is None else (100 * one.low, 100 * one.high)
    return Mark(100 * one.value, f"{version}: {name} {_with_interval(one, 100, 1, ' %')}", interval)


def _percent(one: Estimate) -> list[float | None]:
    return _cells(one, 100, 1)


def _cells(one: Estimate, factor: float, digits: int) -> list[float | None]:
    """Value, lower and upper bound."""
    return [None if x is None else round(factor * x, digits) for x in (one.value, one.low, one.high)]
