"""Helpdesk dialogues with nuggets: their UCH scores, and how well these predict the ratings (DCH paper)."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from frontend.charts.agreement import (
    StoredStatistics,
    estimate_mark,
    format_estimate,
    interval_cells,
)
from frontend.charts.chart import Cell, Chart, add_few, interval_head, rows_with_few
from plots.lines import draw_lines
from plots.marks import Mark

MAX_SERIES: Final = 6


def draw_scores(statistics: StoredStatistics) -> Chart:
    uch = statistics.numbers["uch"]
    width = uch["bins"]["width"]
    labels = [f"{n * width:g}" for n in range(len(uch["bins"]["auch"]))]
    legend = ["AUCH", "CUCH"]
    series: list[list[Mark | None]] = [
        [
            Mark(n, f"{name} ≥ {label}: {n}")
            for label, n in zip(labels, uch["bins"][name.lower()], strict=True)
        ]
        for name in legend
    ]
    title, x = _("What are the dialogues worth?"), _("UCH, from")
    svg = draw_lines(labels, series, x=x, y=_("dialogues"), description=title) if uch["dialogues"] else ""
    rows: list[list[Cell]] = [
        [label, auch, cuch]
        for label, auch, cuch in zip(labels, uch["bins"]["auch"], uch["bins"]["cuch"], strict=True)
    ]
    note = _(
        "n = %(n)s dialogues, L = %(L)s characters, α = 0.5. Means: AUCH %(auch)s, CUCH %(cuch)s. %(spare)s goal "
        "nuggets after a side's first add nothing (%(with_spare)s dialogues); no type has a majority for %(tied)s "
        "utterances (%(with_ties)s dialogues): they are not nuggets in CUCH."
    ) % {
        "n": intcomma(uch["dialogues"]), "L": intcomma(uch["L"]),
        "auch": format_number(uch["auch"]), "cuch": format_number(uch["cuch"]),
        "spare": intcomma(uch["spare"]["nuggets"]), "with_spare": intcomma(uch["spare"]["dialogues"]),
        "tied": intcomma(uch["ties"]["utterances"]), "with_ties": intcomma(uch["ties"]["dialogues"]),
    }  # fmt: skip
    return Chart("uch", title, note, [x, *legend], rows if uch["dialogues"] else [], svg, legend)


def tabulate_tau(statistics: StoredStatistics) -> Chart:
    taus = statistics.in_schema_order(statistics.numbers["uch"]["tau"])
    rows: list[list[Cell]] = [
        [
            statistics.title_of(name),
            format_estimate(tau["auch"]),
            format_estimate(tau["cuch"]),
            tau["auch"]["n"],
        ]
        for name, tau in taus.items()
    ]
    note = _(
        "Kendall's τ of UCH and the mean z-score of the ratings of a dialogue (Table 4 of the DCH paper), with "
        "95 % intervals."
    )
    head = [_("question"), _("τ with AUCH"), _("τ with CUCH"), "n"]
    faint = rows_with_few(rows, -1)
    title = _("Does UCH predict people's ratings?")
    return Chart("tau", title, add_few(note, faint), head, rows, faint=faint)


def draw_tau_by_patience(statistics: StoredStatistics) -> Chart:
    title, x = _("How much patience do ratings show?"), _("L (characters)")
    note = _(
        "τ of AUCH with the ratings at every L (Figure 4); the right end takes dialogues as sets of nuggets."
    )
    return _draw_tau_sweep(statistics, "by_patience", title, x, note)


def draw_tau_by_alpha(statistics: StoredStatistics) -> Chart:
    title, x = (
        _("Whose nuggets matter more?"),
        pgettext("weight of the helpdesk", "α (0: customer, 1: helpdesk)"),
    )
    return _draw_tau_sweep(
        statistics, "by_alpha", title, x, _("τ of AUCH with the ratings at every α (Figure 5).")
    )


def _draw_tau_sweep(statistics: StoredStatistics, key: str, title: str, x: str, note: str) -> Chart:
    sweeps: dict[str, list[dict[str, Any]]] = statistics.in_schema_order(statistics.numbers["uch"][key])
    labels = [f"{point['x']:g}" for point in next(iter(sweeps.values()), [])]
    titles = {name: statistics.title_of(name) for name in sweeps}
    names = list(sweeps)[:MAX_SERIES]
    series = [
        [
            estimate_mark(f"{titles[name]}, {label}", point)
            for label, point in zip(labels, sweeps[name], strict=True)
        ]
        for name in names
    ]
    has_marks = any(mark for marks in series for mark in marks)
    svg = draw_lines(labels, series, x=x, y="τ", description=title) if has_marks else ""
    rows: list[list[Cell]] = [
        [titles[name], point["x"], *interval_cells(point, 4), point["n"]]
        for name, points in sweeps.items()
        for point in points
    ]
    head, legend = [_("question"), x, "τ", *interval_head(), "n"], [titles[name] for name in names]
    shown = rows if has_marks else []
    faint = rows_with_few(shown, -1)
    return Chart(key.replace("_", "-"), title, add_few(note, faint), head, shown, svg, legend, faint=faint)


def format_number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


CHARTS: Final[dict[str, Callable[[StoredStatistics], Chart]]] = {
    "uch": draw_scores,
    "tau": tabulate_tau,
    "by-patience": draw_tau_by_patience,
    "by-alpha": draw_tau_by_alpha,
}
