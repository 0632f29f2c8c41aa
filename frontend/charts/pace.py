"""How long authors take for a turn, and how long they wait for candidates."""

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.authoring.selectors.statistics import Statistics
from common.sentences import join_sentences
from frontend.charts.actions import describe_hidden_rows, unique_names
from frontend.charts.chart import Cell, Chart, to_percent
from generation.selectors import waiting_statistics
from measures.proportion import proportion
from plots.marks import Mark
from plots.rows import draw_rows


def draw_paces(statistics: Statistics) -> Chart:
    paces = statistics.paces()
    names = unique_names([pace.person for pace in paces])
    legend = [_("active, median"), _("idle, mean")]
    series = [
        [Mark(value, f"{name}: {legend[n]} {value:.1f} s") for name, value in zip(names, values, strict=True)]
        for n, values in enumerate([[pace.active for pace in paces], [pace.idle for pace in paces]])
    ]
    title = _("How long does a turn take?")
    svg = draw_rows(names, series, x=_("seconds per turn"), description=title) if paces else ""
    rows: list[list[Cell]] = [
        [name, pace.turns, round(pace.active, 1), round(pace.active_p90, 1), round(pace.idle, 1)]
        for name, pace in zip(names, paces, strict=True)
    ]
    head = [
        _("annotator"),
        _("turns"),
        _("active, median (s)"),
        _("active, 90th percentile (s)"),
        _("idle, mean (s)"),
    ]
    note = _describe_idle_time(sum(pace.turns for pace in paces))
    notes = join_sentences([note, describe_hidden_rows(len(paces))])
    return Chart("pace", title, notes, head, rows, svg, legend)


def _describe_idle_time(turns: int) -> str:
    return ngettext(
        "n = %(n)s turn. What a pause lasts beyond 30 s, and time in other tabs, counts as idle.",
        "n = %(n)s turns. What a pause lasts beyond 30 s, and time in other tabs, counts as idle.",
        turns,
    ) % {"n": intcomma(turns)}


def tabulate_waits(statistics: Statistics) -> Chart:
    waits = waiting_statistics(statistics.project)
    rows: list[list[Cell]] = [
        [_("ready when the turn was sent (%)"), to_percent(proportion(waits.ready, waits.turns).share)],
        [
            _("being generated when the turn was sent (%)"),
            to_percent(proportion(waits.on_the_way, waits.turns).share),
        ],
        [_("wait, median (s)"), _to_seconds(waits.p50_ms)],
        [_("wait, 95th percentile (s)"), _to_seconds(waits.p95_ms)],
        [_("turns"), waits.turns],
        [_("sets made for drafts that changed"), waits.unseen],
    ]
    note = _(
        "From sending a turn to the first candidates of the next; 0 s when they were made while it was written."
    )
    title = _("Do people wait for candidates?")
    head = ["", _("value")]
    return Chart("waiting", title, note, head, rows if waits.turns else [], has_units_by_row=True)


def _to_seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds / 1000, 2)
