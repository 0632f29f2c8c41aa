"""Who took part in a run: reliability, agreement, and how the run is going."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assessment.report.selectors.run_report import RunReport
from assessment.sessions.selectors.runs import SystemProgress
from common.sentences import join_sentences
from frontend.charts.chart import Cell, Chart, round_value, to_percent
from measures.participant_agreement import pair_correlations
from measures.system_scores import participants_to_halve
from plots.columns import draw_columns
from plots.lines import draw_lines
from plots.marks import Mark
from plots.rows import draw_rows

P_BOUNDS: Final = (0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
R_STEP: Final = 0.1


def tabulate_participation(report: RunReport) -> Chart:
    """Table 1 of the paper."""
    people, dialogues, minutes = report.participants, report.dialogues, report.minutes
    parts = (
        (_("all"), people.all, dialogues.all, minutes.all),
        (_("passed"), people.passed, dialogues.passed, minutes.passed),
        (_("failed"), people.failed, dialogues.failed, minutes.failed),
    )
    rows: list[list[Cell]] = [
        [
            name,
            count,
            to_percent(count / people.all) if people.all and count is not None else None,
            talks,
            to_percent(talks / dialogues.all) if dialogues.all and talks is not None else None,
            round_value(duration, 2),
        ]
        for name, count, talks, duration in parts
    ]
    head = [_("participants"), _("people"), "%", _("dialogues"), "%", _("minutes per dialogue")]
    note = _(
        "Participants whose assignment ended paid. Dialogues without those with the degraded system; minutes are the "
        "mean over assignments."
    )
    title = _("How many took part, and how many passed the reliability test?")
    return Chart("participation", title, note, head, rows if people.all else [])


def draw_reliability(report: RunReport) -> Chart:
    title = _("Who can tell the degraded system from the others?")
    counts: Counter[int] = Counter()
    for test in report.tests:
        counts[-1 if test.p is None else _bin_of(test.p)] += 1
    places = [*range(len(P_BOUNDS) - 1), *([-1] if counts[-1] else [])]
    labels = [_("No p") if place < 0 else f"< {P_BOUNDS[place + 1]:g}" for place in places]
    marks = [
        Mark(counts[place], f"{label}: {counts[place]}") for place, label in zip(places, labels, strict=True)
    ]
    svg = ""
    if report.tests:
        svg = draw_columns(labels, marks, x="p", y=_("participants"), description=title)
    rows: list[list[Cell]] = [
        [label, counts[place], None if place < 0 else sum(counts[n] for n in range(place + 1))]
        for place, label in zip(places, labels, strict=True)
    ]
    note = _(
        "One-sided Mann-Whitney test for each participant, over all their ratings: does the degraded system score "
        "lower? They pass if p < %(limit)s. The table counts who would pass at another limit. “No p” means: nothing to "
        "compare, or all equal. Payment never depends on it."
    ) % {"limit": f"{report.threshold:g}"}
    head = ["p", _("participants"), _("would pass at this limit")]
    return Chart("reliability", title, note, head, rows if report.tests else [], svg)


def tabulate_participants(
    report: RunReport, names: Mapping[int, str], address: Callable[[int], str] | None = None
) -> Chart:
    """One row for each participant, those who failed first. names, address: by their number in this installation."""
    tests = sorted(report.tests, key=lambda test: math.inf if test.p is None else test.p, reverse=True)
    numbers = [int(str(test.participant)) for test in tests]
    rows: list[list[Cell]] = [
        [
            number,
            names.get(number),
            None if test.p is None else f"{test.p:.2g}",
            _("passed") if test.passes(report.threshold) else _("failed"),
            test.ordinary,
            test.degraded,
        ]
        for number, test in zip(numbers, tests, strict=True)
    ]
    head = [
        _("participant no."), _("name"), "p", _("test"),
        _("ratings of ordinary systems"), _("ratings of the degraded system"),
    ]  # fmt: skip
    note = _("Those who failed come first. Ratings of the statements that the test uses.")
    links = [address(number) for number in numbers] if address else []
    title = _("How reliable is each participant?")
    return Chart("participants", title, note, head, rows, links=links)


def draw_agreement(report: RunReport) -> Chart:
    """Figure 2 of the paper."""
    table = report.ratings.dialogues
    passed = table.of_participants(report.passed)
    series = [pair_correlations(table, report.z, rows) for rows in (passed, ~passed)]
    edges = np.round(np.arange(-1.0, 1.0 + R_STEP / 2, R_STEP), 1) + 0.0  # no -0.0
    counts = [np.histogram(found, bins=edges)[0].tolist() for found in series]
    labels = [f"{edge:.1f}" for edge in edges[:-1]]
    names = [_("passed"), _("failed")]
    title = _("Do participants who judged the same systems agree?")
    marks = [
        _share_marks(name, labels, counted) if sum(counted) else [None] * len(labels)
        for name, counted in zip(names, counts, strict=True)
    ]
    has_pairs = any(map(sum, counts))
    svg = ""
    if has_pairs:
        svg = draw_lines(labels, marks, x=_("r from"), y=_("% of pairs"), description=title)
    rows: list[list[Cell]] = [
        [f"{low:.1f} … {low + R_STEP:.1f}", *numbers]
        for low, *numbers in zip(edges[:-1].tolist(), *counts, strict=True)
    ]
    medians = [f"{float(np.median(found)):.2f}" if found.size else "–" for found in series]
    note = _(
        "Pearson's r of every two assignments with the same systems, over the mean score of each dialogue: "
        "%(passed)s pairs of participants who passed (median %(first)s), %(failed)s of participants who failed "
        "(median %(second)s)."
    ) % {
        "passed": intcomma(series[0].size),
        "failed": intcomma(series[1].size),
        "first": medians[0],
        "second": medians[1],
    }
    head = ["r", *names]
    return Chart("agreement", title, note, head, rows if has_pairs else [], svg, names)


def _share_marks(name: str, labels: Sequence[str], counts: Sequence[int]) -> list[Mark | None]:
    total = sum(counts)
    return [
        Mark(100 * n / total, f"{name}, r ≥ {label}: {n}") for label, n in zip(labels, counts, strict=True)
    ]


def draw_progress(
    report: RunReport,
    progress: Sequence[SystemProgress],
    revealing: Mapping[int, int],
    ordinary_systems: int,
) -> Chart:
    """revealing: replies that may identify a system, by its id. ordinary_systems: that each participant gets."""
    title = _("How much do we know of each system?")
    names = [_("rated"), _("under way"), _("voided")]
    labels = [each.system.name for each in progress]
    series = [
        [Mark(count, f"{label}: {count}") for label, count in zip(labels, counts, strict=True)]
        for counts in (
            [each.rated for each in progress],
            [each.open for each in progress],
            [each.voided for each in progress],
        )
    ]
    # A series of zeros would only make the other bars thin.
    drawn = [(name, marks) for name, marks in zip(names, series, strict=True) if any(m.value for m in marks)]
    svg = ""
    if drawn:
        bars = [marks for _name, marks in drawn]
        svg = draw_rows(labels, bars, x=_("conversations"), description=title)
    rows = [_progress_row(report, each, revealing, ordinary_systems) for each in progress]
    head = [
        _("system"), *names, _("replies that may identify it"), _("width of the interval"),
        _("more participants to halve it"),
    ]  # fmt: skip
    note = ngettext(
        "%(n)s participant passed so far. To halve an interval takes four times the participants who passed and had "
        "the system; the last column counts everybody who must take part for that, at the present pass rate.",
        "%(n)s participants passed so far. To halve an interval takes four times the participants who passed and had "
        "the system; the last column counts everybody who must take part for that, at the present pass rate.",
        len(report.passed),
    ) % {"n": intcomma(len(report.passed))}
    note = join_sentences([note, _describe_need([row[-1] for row in rows])])
    return Chart("progress", title, note, head, rows, svg, [name for name, _marks in drawn])


def _progress_row(
    report: RunReport, each: SystemProgress, revealing: Mapping[int, int], ordinary_systems: int
) -> list[Cell]:
    return [
        each.system.name,
        each.rated,
        each.open,
        each.voided,
        revealing.get(each.system.pk, 0),
        *_precision(report, each.system.name, ordinary_systems),
    ]


def _describe_need(more: Sequence[Cell]) -> str:
    """How many more participants would halve the interval of every system; empty if nobody knows."""
    needed = max((each for each in more if isinstance(each, int)), default=None)
    if needed is None:
        return ""
    return ngettext(
        "About %(n)s more participant would halve every interval.",
        "About %(n)s more participants would halve every interval.",
        needed,
    ) % {"n": intcomma(needed)}


def _precision(report: RunReport, system: str, ordinary_systems: int) -> list[Cell]:
    """The width of the interval of the overall score, and how many more participants would halve it."""
    overall = next((each.overall for each in report.scores if each.system == system), None)
    if overall is None or overall.low is None or overall.high is None:
        return [None, None]
    return [round(overall.high - overall.low, 3), _more_participants(report, system, ordinary_systems)]


def _more_participants(report: RunReport, system: str, ordinary_systems: int) -> int | None:
    table = report.ratings.dialogues
    if not report.participants.all or system not in table.systems:
        return None
    rows = table.of_participants(report.passed) & (table.system == table.systems.index(system))
    judges = int(np.unique(table.participant[rows]).size)
    pass_rate = len(report.passed) / report.participants.all
    share = min(1.0, ordinary_systems / max(1, len(table.ordinary_systems)))
    return participants_to_halve(judges, pass_rate * share)


def _bin_of(p: float) -> int:
    """The last bin includes 1."""
    return min(int(np.searchsorted(P_BOUNDS, p, side="right")) - 1, len(P_BOUNDS) - 2)
