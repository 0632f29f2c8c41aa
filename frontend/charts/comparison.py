"""Which of two models' candidates people take."""

from collections.abc import Sequence

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.authoring.selectors.model_comparison import ModelComparison, model_comparisons
from annotation.authoring.selectors.statistics import Statistics
from dialogues.models import Action
from frontend.charts.chart import Cell, Chart, is_few
from measures.estimate import Estimate
from measures.paired_comparison import ModelCandidates
from plots.marks import Mark
from plots.rows import draw_estimates

NAME = "models"


def draw_model_comparison(statistics: Statistics) -> Chart:
    comparisons = model_comparisons(statistics.project)
    sides = [(version, side) for comparison in comparisons for version, side in _sides(comparison)]
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
    svg = draw_estimates([v for v, _s in sides], *series, x="%", description=title) if sides else ""
    shares = [_("taken (%)"), *(f"{name} (%)" for name in names)]
    head = [
        _("model"), _("compared with"), _("candidates shown"), *(cell for name in shares for cell in (name, "≥", "≤")),
        _("ignored (%)"), _("turns won"), _("won (%)"), "≥", "≤", _("won without preference (%)"),
        _("taken so many times as often"), "≥", "≤",
    ]  # fmt: skip
    return Chart(
        NAME,
        title,
        _note(comparisons),
        head,
        [row for comparison in comparisons for row in _rows(comparison)],
        svg,
        names,
    )


def _sides(comparison: ModelComparison) -> list[tuple[str, ModelCandidates]]:
    return [
        (comparison.newer, comparison.paired_comparison.newer),
        (comparison.older, comparison.paired_comparison.older),
    ]


def _rows(comparison: ModelComparison) -> list[list[Cell]]:
    paired = comparison.paired_comparison
    expected = None if paired.expected is None else round(100 * paired.expected, 1)
    compared = [*_percent(paired.share), expected, *_cells(paired.ratio, 1, 2)]
    return [
        [comparison.newer, comparison.older, *_side(paired.newer), *compared],
        [comparison.older, comparison.newer, *_side(paired.older), *[None] * len(compared)],
    ]


def _side(side: ModelCandidates) -> list[Cell]:
    taken, ignored = [*map(_percent, (side.taken, side.selected, side.revised))], _percent(side.ignored)[0]
    return [side.shown, *(cell for cells in taken for cell in cells), ignored, side.won]


def _note(comparisons: Sequence[ModelComparison]) -> str:
    if not comparisons:
        return _(
            "The settings of the project can name a second model, which then writes half of the candidates."
        )
    newest, paired_comparison = comparisons[0], comparisons[0].paired_comparison
    rests_on = ngettext(
        "n = %(n)s turn with candidates of both; nobody saw which wrote what.",
        "n = %(n)s turns with candidates of both; nobody saw which wrote what.",
        newest.turns,
    ) % {"n": intcomma(newest.turns)}
    if paired_comparison.share.value is None or paired_comparison.expected is None:
        return rests_on
    won = _(
        "The newer model, %(newer)s, won %(share)s of the %(decided)s turns in which a candidate was selected or "
        "revised; without a preference it would be %(expected).1f %%."
    ) % {
        "newer": newest.newer,
        "share": _with_interval(paired_comparison.share, 100, 1, " %"),
        "decided": intcomma(paired_comparison.decided),
        "expected": 100 * paired_comparison.expected,
    }
    if paired_comparison.ratio.value is None:
        return f"{won} {rests_on}"
    often = _("Each of its candidates was taken %(ratio)s times as often.") % {
        "ratio": _with_interval(paired_comparison.ratio, 1, 2)
    }
    return f"{won} {often} {rests_on}"


def _with_interval(estimate: Estimate, factor: float, digits: int, unit: str = "") -> str:
    value, low, high = _cells(estimate, factor, digits)
    return f"{value}{unit}" if low is None else f"{value}{unit} ({low}–{high})"


def _mark(version: str, name: str, estimate: Estimate) -> Mark | None:
    if estimate.value is None:
        return None
    interval = (
        None if estimate.low is None or estimate.high is None else (100 * estimate.low, 100 * estimate.high)
    )
    title = f"{version}: {name} {_with_interval(estimate, 100, 1, ' %')}"
    return Mark(100 * estimate.value, title, interval, is_faint=is_few(estimate.n))


def _percent(estimate: Estimate) -> list[float | None]:
    return _cells(estimate, 100, 1)


def _cells(estimate: Estimate, factor: float, digits: int) -> list[float | None]:
    """Value, lower and upper bound."""
    return [
        None if bound is None else round(factor * bound, digits)
        for bound in (estimate.value, estimate.low, estimate.high)
    ]
