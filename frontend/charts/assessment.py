"""What participants think of the systems of a run: scores, significance, and how statements and runs agree."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assessment.report.selectors.run_report import RunPair, RunReport
from common.sentences import join_sentences
from frontend.charts.chart import Cell, Chart, add_few, interval_head, is_few, round_value, rows_with_few
from measures.estimate import Estimate
from measures.system_comparison import score_names, statement_correlations
from measures.system_scores import OVERALL, SystemScores
from plots import heat_map, scatter
from plots.marks import Mark
from plots.rows import draw_estimates

Words = Mapping[str, str]
BLANK_ABOVE: Final = 0.1  # p of the cells of the heat map that stay blank (Figure 3 of the paper)
P_DIGITS: Final = 4
SERIES: Final = 6  # colours


def draw_scores(report: RunReport, words: Words) -> Chart:
    """words: what the statements are called, by name; the columns of files keep the names."""
    title = _("Which systems do people rate best?")
    note = _(
        "Standardised scores of the participants who passed: 0 is a participant's mean, 1 their standard deviation. "
        "overall: the mean of the statements; n: ratings; 95 % intervals resample participants. Where agreeing is bad, "
        "scores are reversed: higher is always better."
    )
    if any(each.overall.n and each.overall.value is None for each in report.scores):
        note = join_sentences([note, _("A system without a rating of every statement has no overall score.")])
    return _draw_scores("scores", title, note, report.scores, 3, words)


def draw_raw_scores(report: RunReport, words: Words) -> Chart:
    title = _("How do people rate the systems on the scale?")
    note = _("Raw scores from 0 to 100 of the participants who passed, not standardised; higher is better.")
    return _draw_scores("raw-scores", title, note, report.raw, 2, words)


def _draw_scores(
    name: str, title: str, note: str, scores: Sequence[SystemScores], digits: int, words: Words
) -> Chart:
    marks = [_mark(each.system, each.overall, digits) for each in scores]
    svg = ""
    if any(marks):
        svg = draw_estimates([each.system for each in scores], marks, x=_("overall score"), description=title)
    statements = list(scores[0].by_statement) if scores else []
    columns = [OVERALL, *statements]
    head = [
        _("system"),
        "n",
        *(cell for column in columns for cell in (_word_of_score(column, words), *interval_head())),
    ]
    rows: list[list[Cell]] = [
        [
            each.system,
            each.overall.n,
            *(
                round_value(bound, digits)
                for estimate in (each.overall, *each.by_statement.values())
                for bound in (estimate.value, estimate.low, estimate.high)
            ),
        ]
        for each in scores
        if each.overall.n
    ]
    faint = rows_with_few(rows, 1)
    return Chart(name, title, add_few(note, faint), head, rows, svg, faint=faint)


def draw_significance(report: RunReport) -> Chart:
    title = _("Which system is significantly better than which?")
    systems = [each.system for each in report.scores if each.overall.n]
    p = {(test.better, test.worse): test.p for test in report.pairwise}
    cells = [[_significance(row, column, p.get((row, column))) for column in systems] for row in systems]
    svg = ""
    if any(cell for row in cells for cell in row):
        svg = heat_map.draw_heat_map(systems, cells, x=_("significantly worse system"), description=title)
    rows: list[list[Cell]] = [
        [row, *(round_value(p.get((row, column)), P_DIGITS) for column in systems)] for row in systems
    ]
    note = _(
        "p that the system of the row is not better than that of the column: one-sided Mann-Whitney test on the mean "
        "standardised score of each dialogue. The stronger the colour, the smaller p; cells with p > 0.1 stay blank."
    )
    return Chart(
        "significance", title, note, [_("better ↓ · worse →"), *systems], rows, svg, decimals=P_DIGITS
    )


def _significance(better: str, worse: str, p: float | None) -> heat_map.Cell | None:
    if p is None or p > BLANK_ABOVE:
        return None
    return heat_map.Cell(1 - p / BLANK_ABOVE, f"{better} > {worse}: p = {p:.{P_DIGITS}f}")


def tabulate_correlations(report: RunReport, words: Words) -> Chart:
    found = statement_correlations(report.scores)
    names = score_names(report.scores)
    rows: list[list[Cell]] = []
    for place, row in enumerate(names):
        cells: list[Cell] = [_word_of_score(row, words)]
        for other, column in enumerate(names):
            if other > place:
                cells.append(round_value(found[row, column].pearson, 3))
            else:
                cells.append(None if other == place else round_value(found[column, row].spearman, 3))
        rows.append(cells)
    note = _(
        "Over the systems' standardised scores: Pearson's r above the diagonal, Spearman's ρ below. –: undefined, for "
        "example with fewer than two systems."
    )
    has_scores = any(each.overall.n for each in report.scores)
    title = _("Which statements go together?")
    head = ["", *(_word_of_score(name, words) for name in names)]
    return Chart("correlations", title, note, head, rows if has_scores else [], decimals=3)


def draw_replication(pairs: Sequence[RunPair], reports: Sequence[RunReport], words: Words) -> Chart:
    """The systems' overall scores in two runs; every pair of runs has its colour."""
    title = _("Does another run say the same?")
    names = [_name_of_pair(pair, reports) for pair in pairs]
    points = [
        point
        for series, (pair, name) in enumerate(zip(pairs, names, strict=True), start=1)
        for point in _points(pair, reports, series, name)
    ]
    svg = ""
    if points:
        x, y = _("overall score, earlier run"), _("later run")
        svg = scatter.draw_scatter(points, x=x, y=y, description=title)
    rows: list[list[Cell]] = [
        [
            name,
            _word_of_score(score, words),
            *(round_value(value, 3) for value in (each.pearson, each.spearman, each.kendall)),
            len(pair.replication.systems),
        ]
        for pair, name in zip(pairs, names, strict=True)
        for score, each in pair.replication.by_score.items()
    ]
    note = join_sentences(_conclude_from_pair(pair, reports) for pair in pairs) or _(
        "This comparison needs a second run of the same systems: open one, or import one."
    )
    head = [_("runs"), _("score"), "r", "ρ", "τ", _("systems")]
    legend = names if len(names) > 1 else []
    return Chart("replication", title, note, head, rows, svg, legend, decimals=3)


def _name_of_pair(pair: RunPair, reports: Sequence[RunReport]) -> str:
    """ "1 · 2", with the ways to choose a topic if the two runs differ in it."""
    runs = [next(each.run for each in reports if each.run.number == number) for number in pair.runs]
    if len({run.topic_mode for run in runs}) == 1:
        return " · ".join(str(run.number) for run in runs)
    return " · ".join(f"{run.number} ({run.get_topic_mode_display()})" for run in runs)


def _points(pair: RunPair, reports: Sequence[RunReport], series: int, name: str) -> list[scatter.Point]:
    """Of the systems with a score in both runs."""
    first, second = (
        {
            each.system: each.overall.value
            for report in reports
            if report.run.number == number
            for each in report.scores
        }
        for number in pair.runs
    )
    points = []
    for system in pair.replication.systems:
        one, other = first[system], second[system]
        if one is not None and other is not None:
            title = f"{name}, {system}: {one:.3f}, {other:.3f}"
            points.append(scatter.Point(one, other, min(series, SERIES), title))
    return points


def _conclude_from_pair(pair: RunPair, reports: Sequence[RunReport]) -> str:
    """The share of equal conclusions, or the reason why it is undefined."""
    numbers = {"one": pair.runs[0], "other": pair.runs[1]}
    scores = [report.scores for report in reports if report.run.number in pair.runs]
    if not all(any(each.overall.n for each in run) for run in scores):
        return _("Runs %(one)d and %(other)d: one of them has no scores.") % numbers
    if not pair.replication.systems:
        return _("Runs %(one)d and %(other)d have no system in common.") % numbers
    if len(pair.replication.systems) == 1:
        return _("Runs %(one)d and %(other)d have one system in common; a comparison needs two.") % numbers
    return _same_conclusions(pair)


def _same_conclusions(pair: RunPair) -> str:
    shares = [
        f"p < {level:g}: {'–' if same.share is None else f'{100 * same.share:.0f} %'} "
        + ngettext("of %(n)s pair", "of %(n)s pairs", same.n) % {"n": intcomma(same.n)}
        for level, same in pair.replication.same_conclusions.items()
    ]
    return _("Runs %(one)d and %(other)d, same pairwise conclusions at %(shares)s.") % {
        "one": pair.runs[0],
        "other": pair.runs[1],
        "shares": ", ".join(shares),
    }


def _mark(label: str, estimate: Estimate, digits: int) -> Mark | None:
    if estimate.value is None:
        return None
    words = f"{label}: {estimate.value:.{digits}f}, n = {estimate.n}"
    if estimate.low is None or estimate.high is None:
        return Mark(estimate.value, words, is_faint=is_few(estimate.n))
    interval = f" ({estimate.low:.{digits}f}–{estimate.high:.{digits}f})"
    bounds = (estimate.low, estimate.high)
    return Mark(estimate.value, words + interval, bounds, is_faint=is_few(estimate.n))


def _word_of_score(name: str, words: Words) -> str:
    """A statement that the settings no longer have keeps its name."""
    return _("overall") if name == OVERALL else words.get(name, name)
