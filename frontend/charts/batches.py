"""How batches do: their states, rounds, acceptance by group and over time, and the work of controllers."""

from collections.abc import Sequence
from datetime import date

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.batch_review.selectors.boards import Boards
from annotation.tasks.models.rounds import RoundState
from frontend.charts.chart import (
    LEAST_PERCENT,
    Cell,
    Chart,
    add_few,
    interval_head,
    is_few,
    rows_with_few,
    to_percent,
)
from measures.proportion import Proportion
from plots.columns import draw_columns
from plots.lines import draw_lines
from plots.marks import Mark
from plots.rows import draw_estimates, draw_rows


def draw_states(boards: Boards) -> Chart:
    counts = boards.by_state()
    names = [str(RoundState(state).label) for state in counts]
    total = sum(counts.values())
    title = _("How far along are the batches?")
    marks = [Mark(n, f"{name}: {n}") for name, n in zip(names, counts.values(), strict=True)]
    svg = draw_rows(names, [marks], x=_("batches"), description=title) if total else ""
    note = ngettext("n = %(n)s batch", "n = %(n)s batches", total) % {"n": intcomma(total)}
    rows: list[list[Cell]] = [[name, n] for name, n in zip(names, counts.values(), strict=True)]
    return Chart("states", title, note, [_("state"), _("batches")], rows if total else [], svg)


def draw_rounds(boards: Boards) -> Chart:
    counts, several = boards.rounds_needed(), boards.share_with_several_rounds()
    title, x = _("How many rounds does a batch need?"), _("rounds until accepted")
    labels = [str(number) for number in counts]
    marks = [Mark(n, f"{label}: {n}") for label, n in zip(labels, counts.values(), strict=True)]
    svg = draw_columns(labels, marks, x=x, y=_("batches"), description=title) if counts else ""
    note = ngettext("n = %(n)s accepted batch", "n = %(n)s accepted batches", several.n) % {
        "n": intcomma(several.n)
    }
    if several.share is not None:
        note += " · " + _("more than one round: %(share)s") % {"share": format_percent(several)}
    rows: list[list[Cell]] = [
        [label, n, to_percent(n / several.n)] for label, n in zip(labels, counts.values(), strict=True)
    ]
    return Chart("rounds", title, note, [x, _("batches"), "%"], rows, svg)


def draw_acceptance_by_group(boards: Boards) -> Chart:
    shares = boards.by_group()
    names = [name or _("Everybody") for name in shares]
    title, x = _("Whose batches are accepted?"), _("accepted rounds (%)")
    marks = [percent_mark(name, part) for name, part in zip(names, shares.values(), strict=True)]
    svg = draw_estimates(names, marks, x=x, description=title) if shares else ""
    rows = list(zip(names, shares.values(), strict=True))
    return _acceptance_chart("groups", title, _("group"), rows, svg, _("lines: 95 % intervals"))


def draw_acceptance_over_time(boards: Boards) -> Chart:
    unit, shares = boards.over_time()
    title, x = _("Are more batches accepted over time?"), _("month") if unit == "month" else _("week")
    labels = [_format_period(unit, start) for start, _part in shares]
    marks = [
        percent_mark(label, part) if part.n else None
        for label, (_start, part) in zip(labels, shares, strict=True)
    ]
    svg = draw_lines(labels, [marks], x=x, y="%", description=title) if shares else ""
    rows = [(start.isoformat(), part) for start, part in shares if part.n]
    return _acceptance_chart("course", title, x, rows, svg, _("bands: 95 % intervals"))


def _format_period(unit: str, start: date) -> str:
    return f"{start:%Y-%m}" if unit == "month" else f"{start:%m-%d}"


def _acceptance_chart(
    name: str, title: str, key: str, shares: Sequence[tuple[str, Proportion]], svg: str, intervals: str
) -> Chart:
    n = sum(part.n for _label, part in shares)
    note = ngettext("n = %(n)s round with a verdict", "n = %(n)s rounds with a verdict", n) % {
        "n": intcomma(n)
    }
    rows: list[list[Cell]] = [
        [label, part.count, part.n, to_percent(part.share), to_percent(part.low), to_percent(part.high)]
        for label, part in shares
    ]
    head = [key, _("accepted"), _("rounds"), "%", *interval_head()]
    faint = rows_with_few(rows, 2)
    return Chart(name, title, add_few(f"{note} · {intervals}", faint), head, rows, svg, faint=faint)


def draw_controller_loads(boards: Boards) -> Chart:
    loads = boards.loads()
    names = [load.name for load in loads]
    title, x = _("Who judges how much?"), _("dialogues judged")
    marks = [Mark(load.judged, f"{load.name}: {load.judged}") for load in loads]
    svg = draw_rows(names, [marks], x=x, description=title) if loads else ""
    rows: list[list[Cell]] = [
        [
            load.name,
            load.samples,
            load.judged,
            *(to_percent(value) for value in (load.wrong.share, load.wrong.low, load.wrong.high)),
            round(load.seconds, 1),
        ]
        for load in loads
    ]
    head = [_("controller"), _("samples"), x, _("corrected (%)"), *interval_head(), _("active, mean (s)")]
    n = sum(load.judged for load in loads)
    note = ngettext("n = %(n)s judgement", "n = %(n)s judgements", n) % {"n": intcomma(n)}
    return Chart("load", title, note, head, rows, svg)


def percent_mark(label: str, part: Proportion) -> Mark:
    share, low, high = _percents(part)
    title = f"{label}: {format_percent(part)}, n = {part.n}"
    return Mark(share, title, (low, high), is_few(part.n), LEAST_PERCENT)


def format_percent(part: Proportion) -> str:
    share, low, high = _percents(part)
    return f"{share:.1f} % ({low:.1f}–{high:.1f})"


def _percents(part: Proportion) -> tuple[float, float, float]:
    return 100 * (part.share or 0.0), 100 * (part.low or 0.0), 100 * (part.high or 0.0)
