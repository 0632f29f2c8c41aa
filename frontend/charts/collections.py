"""What raters think of the dialogues of a collection."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from django.utils.translation import gettext as _

from assessment.collections.models import CollectionKind
from assessment.collections.selectors.report import HUMAN, CollectionReport, Criterion
from assessment.collections.selectors.verdict import agreement_level, criterion_name
from frontend.charts.chart import Cell, Chart, add_few, interval_head, is_few, round_value, rows_with_few
from measures.estimate import Estimate
from measures.paired_systems import SystemComparison
from plots.marks import Mark
from plots.rows import draw_estimates

DIGITS: Final = 3
Draw = Callable[[CollectionReport], Chart]


def charts_of(report: CollectionReport) -> Mapping[str, Draw]:
    """By the name in their URLs, in the order of the page."""
    plotted = {f"by-{criterion.name}": partial(draw_criterion, criterion) for criterion in report.criteria}
    return {
        "scores": tabulate_scores,
        **plotted,
        "comparisons": tabulate_comparisons,
        "agreement": tabulate_agreement,
        "better-than-human": tabulate_beaten,
        "missing": tabulate_missing,
    }


def tabulate_scores(report: CollectionReport) -> Chart:
    criteria = report.criteria
    head = [_("system"), *(criterion_name(each.text) for each in criteria), _("dialogues rated")]
    rows: list[list[Cell]] = [
        [
            label(row.system),
            *(round_value(row.scores[each.name].value, DIGITS) for each in criteria),
            row.rated,
        ]
        for row in report.systems
    ]
    note = _(
        "Means of the elected scores, from 0 to 2: the majority of the raters, or the median where no score has one. "
        "The best system comes first."
    )
    title = _("Which system do raters prefer?")
    return Chart("scores", title, note, head, rows if any(row.rated for row in report.systems) else [])


def draw_criterion(criterion: Criterion, report: CollectionReport) -> Chart:
    name, title = f"by-{criterion.name}", criterion_name(criterion.text)
    scores = [(label(row.system), row.scores[criterion.name]) for row in report.systems]
    known = [(system, score) for system, score in scores if score.value is not None]
    svg = ""
    if known:
        marks = [_mark(system, score) for system, score in known]
        x = _("mean, 0 to 2")
        svg = draw_estimates([system for system, _score in known], marks, x=x, description=title)
    rows: list[list[Cell]] = [
        [system, *(round_value(value, DIGITS) for value in (score.value, score.low, score.high)), score.n]
        for system, score in known
    ]
    faint = rows_with_few(rows, -1)
    note = add_few(_("95 % intervals resample dialogues."), faint)
    head = [_("system"), _("mean"), *interval_head(), "n"]
    return Chart(name, title, note, head, rows, svg, faint=faint)


def _mark(system: str, score: Estimate) -> Mark | None:
    if score.value is None:
        return None
    if score.low is None or score.high is None:
        return Mark(score.value, f"{system}: {score.value:.2f}, n = {score.n}", is_faint=is_few(score.n))
    words = f"{system}: {score.value:.2f} ({score.low:.2f}–{score.high:.2f}), n = {score.n}"
    return Mark(score.value, words, (score.low, score.high), is_faint=is_few(score.n))


def tabulate_comparisons(report: CollectionReport) -> Chart:
    is_paired = report.kind != CollectionKind.HUMAN_BOT
    rows: list[list[Cell]] = [
        [
            f"{criterion_name(criterion.text)}: {_order(each)}",
            *(round_value(mean, DIGITS) for mean in each.means),
            round_value(each.p, 4),
            each.n,
            each.needed,
        ]
        for criterion in report.criteria
        for each in criterion.comparisons
        if each.n
    ]
    test = (
        _("Two-sided signed-rank test, context by context")
        if is_paired
        else _("Two-sided Mann-Whitney test on the means of dialogues")
    )
    note = _(
        "%(test)s; p is adjusted for the number of pairs (Holm). Needed: %(what)s that would show it."
    ) % {
        "test": test,
        "what": _("contexts") if is_paired else _("dialogues per system"),
    }
    head = [_("criterion: better > worse"), _("better's mean"), _("worse's mean"), "p", "n", _("needed")]
    return Chart("comparisons", _("Which differences are significant?"), note, head, rows)


def _order(comparison: SystemComparison) -> str:
    sign = ">" if comparison.means[0] > comparison.means[1] else "="
    return f"{label(comparison.better)} {sign} {label(comparison.worse)}"


def tabulate_agreement(report: CollectionReport) -> Chart:
    found = [
        (criterion_name(each.text), each.agreement, each.split)
        for each in report.criteria
        if each.agreement.n
    ]
    if len(found) > 1:
        found.append((_("all together"), report.overall_agreement, sum(split for *_rest, split in found)))
    rows: list[list[Cell]] = [
        [
            name,
            *(round_value(value, DIGITS) for value in (kappa.value, kappa.low, kappa.high)),
            kappa.n,
            split,
            agreement_level(kappa),
        ]
        for name, kappa, split in found
    ]
    note = _(
        "Fleiss' κ of the answers. Without a majority: items whose score is the median. The paper reports 0.42 to 0.47."
    )
    head = [
        _("criterion"), "κ", *interval_head(), "n", _("without a majority"), _("agreement"),
    ]  # fmt: skip
    faint = rows_with_few(rows, 4)
    return Chart("agreement", _("Do raters agree?"), add_few(note, faint), head, rows, faint=faint)


def tabulate_beaten(report: CollectionReport) -> Chart:
    texts = {each.name: criterion_name(each.text) for each in report.criteria}
    rows: list[list[Cell]] = [
        [each.number, each.system, texts[each.criterion], round_value(each.score, DIGITS),
         round_value(each.human, DIGITS), each.dialogue, each.human_dialogue]
        for each in report.beaten
    ]  # fmt: skip
    head = [
        _("context"), _("system"), _("criterion"), _("its score"), _("human reply"), _("dialogue"),
        _("dialogue with the human reply"),
    ]  # fmt: skip
    note = _("Contexts in which a system scores higher than the human reply.")
    return Chart("better-than-human", _("Where does a system beat the human reply?"), note, head, rows)


def tabulate_missing(report: CollectionReport) -> Chart:
    rows: list[list[Cell]] = [[each.number, label(each.system), each.error] for each in report.missing]
    note = _("A system that fails leaves its dialogue out; no other reply takes its place.")
    return Chart("missing", _("What is missing?"), note, [_("context"), _("system"), _("cause")], rows)


def label(system: str) -> str:
    """In tables and plots."""
    return system if system != HUMAN else _("human reply")
