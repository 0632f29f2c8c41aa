"""Evaluators compared with people: correlations, differences, people's own agreement, and each score against people's.

preference.training.meta writes the reports, with ids of runs as names; `titles` has what they are called.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from frontend.charts.chart import Cell, Chart, add_few, interval_head, rows_with_few
from frontend.charts.evaluation import DIGITS, SHOWN_DIGITS, ReportedEstimate, find_estimate
from plots.marks import Mark
from plots.rows import draw_estimates
from plots.scatter import Place, draw_places
from preference.evaluators.models import MetaEvaluation

Report = Mapping[str, Any]
Titles = Mapping[str, str]
MEASURES: Final = {"spearman": "Spearman ρ", "pearson": "Pearson r", "kendall": "Kendall τ"}
COMPARED_WITH_PEOPLE: Final = ("spearman", "pearson")
LABEL_MEASURES: Final = {
    "kappa": "κ",
    "accuracy": gettext_lazy("accuracy"),
    "f1": gettext_lazy("macro F1"),
}


def draw_meta_evaluation(evaluation: MetaEvaluation, titles: Titles) -> list[Chart]:
    """The charts that the report allows, the most important first."""
    report = evaluation.report
    if report["n_systems"]:
        return [_draw_systems(report, titles), *_system_places(report, titles)]
    charts = [
        _draw_correlations(report, titles),
        _draw_differences(report, titles),
        _draw_people(report, titles),
        _draw_labels(report, titles),
        _draw_position_bias(report, titles),
    ]
    return [*(chart for chart in charts if chart), *_point_charts(evaluation, titles)]


def ordered_figures(report: Report) -> list[Report]:
    """The evaluators from best to worst."""
    by_name = {figures["name"]: figures for figures in report["evaluators"]}
    return [by_name[name] for name in report["ranking"]]


def _short_titles(titles: Titles) -> dict[str, str]:
    """Titles for the rows of a plot: without model and settings, unless two evaluators would have the same one."""
    short = {name: title.partition(" · ")[0] for name, title in titles.items()}
    counts = Counter(short.values())
    return {name: title if counts[short[name]] > 1 else short[name] for name, title in titles.items()}


def _cells(estimate: ReportedEstimate | None) -> list[Cell]:
    return estimate.cells()[:3] if estimate else [None, None, None]


def _measure_head(measures: Mapping[str, Any]) -> list[str]:
    return [cell for name in measures.values() for cell in (str(name), *interval_head())]


def _draw_correlations(report: Report, titles: Titles) -> Chart:
    rows = ordered_figures(report)
    names = [titles[figures["name"]] for figures in rows]
    marks = [
        estimate.mark(name) if (estimate := find_estimate(figures, "spearman")) else None
        for name, figures in zip(names, rows, strict=True)
    ]
    title = _("Which evaluator agrees with people?")
    return Chart(
        name="correlation",
        title=title,
        note=_judged(report),
        head=[_("evaluator"), _("scored"), *_measure_head(MEASURES)],
        rows=[
            [name, figures["n_scored"], *_all_cells(figures, MEASURES)]
            for name, figures in zip(names, rows, strict=True)
        ],
        svg=draw_estimates(
            [_short_titles(titles)[figures["name"]] for figures in rows],
            marks,
            x="Spearman ρ",
            description=title,
        ),
        decimals=SHOWN_DIGITS,
    )


def _all_cells(figures: Report, measures: Mapping[str, Any]) -> list[Cell]:
    return [cell for measure in measures for cell in _cells(find_estimate(figures, measure))]


def _judged(report: Report) -> str:
    n = report["n_judged"]
    return ngettext("n = %(n)s judgement", "n = %(n)s judgements", n) % {"n": intcomma(n)}


def _draw_differences(report: Report, titles: Titles) -> Chart | None:
    """Every two evaluators by the measure of the ranking."""
    found = [
        row
        for row in report["differences"]
        if row["measure"] == report["ranked_by"] and row["difference"]["value"] is not None
    ]
    if not found:
        return None
    short = _short_titles(titles)
    names = [f"{titles[row['one']]} − {titles[row['other']]}" for row in found]
    estimates = [find_estimate(row, "difference") for row in found]
    title = _("Is one evaluator better than another?")
    return Chart(
        name="differences",
        title=title,
        note=_(
            "Differences of Spearman ρ on the replies that both scored; p allows for the number of pairs (Holm)."
        ),
        head=[_("evaluators"), _("difference"), *interval_head(), "p", "n"],
        rows=[
            [name, *_cells(estimate), _rounded(row["p_adjusted"]), row["difference"]["n"]]
            for name, estimate, row in zip(names, estimates, found, strict=True)
        ],
        svg=draw_estimates(
            [f"{short[row['one']]} − {short[row['other']]}" for row in found],
            [
                estimate.mark(name) if estimate else None
                for name, estimate in zip(names, estimates, strict=True)
            ],
            x="Δρ",
            description=title,
        ),
        decimals=SHOWN_DIGITS,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _draw_people(report: Report, titles: Titles) -> Chart | None:
    """A person and each evaluator against the mean of the other people."""
    people = report["people"]
    if people is None:
        return None
    names = [_("A person, on average"), *(titles[name] for name in report["ranking"])]
    columns = [_against_people(people[measure], report["ranking"]) for measure in COMPARED_WITH_PEOPLE]
    title = _("Does an evaluator agree with people as well as a person does?")
    measures = {measure: MEASURES[measure] for measure in COMPARED_WITH_PEOPLE}
    head = [cell for name in measures.values() for cell in (name, _("minus a person"), *interval_head())]
    return Chart(
        name="people",
        title=title,
        note=ngettext(
            "Against the mean of the other people; %(n)s person.",
            "Against the mean of the other people; %(n)s people.",
            len(people["people"]),
        )
        % {"n": intcomma(len(people["people"]))},
        head=["", *head],
        rows=[
            [name, *(cell for column in columns for cell in column[place][1])]
            for place, name in enumerate(names)
        ],
        svg=draw_estimates(
            [names[0], *(_short_titles(titles)[name] for name in report["ranking"])],
            [
                Mark(value, f"{name}: {value:.3f}")
                for name, (value, _row) in zip(names, columns[0], strict=True)
            ],
            x="Spearman ρ",
            description=title,
        ),
        decimals=SHOWN_DIGITS,
    )


def _against_people(figures: Report, ranking: Sequence[str]) -> list[tuple[float, list[Cell]]]:
    """Value, and the cells of a table: for a person on average, then for each evaluator."""
    mean = figures["mean"]["value"]
    rows: list[tuple[float, list[Cell]]] = [(mean or 0.0, [_rounded(mean), None, None, None])]
    for name in ranking:
        row = figures["evaluators"][name]
        value = row["value_of_one"]
        rows.append((value or 0.0, [_rounded(value), *_cells(find_estimate(row, "difference"))]))
    return rows


def _draw_labels(report: Report, titles: Titles) -> Chart | None:
    """Labels of evaluators that give them, such as judges, against people's."""
    rows = [figures for figures in ordered_figures(report) if figures["labels"]]
    if not rows:
        return None
    people = report["people_labels"]
    kappas = people["evaluators"] if people else {}
    cells: list[list[Cell]] = [
        [
            titles[figures["name"]],
            figures["labels"]["n"],
            *_all_cells(figures["labels"], LABEL_MEASURES),
            _rounded(kappas.get(figures["name"])),
        ]
        for figures in rows
    ]
    if people:
        empty: list[Cell] = [None] * (3 * len(LABEL_MEASURES))
        cells.insert(0, [_("Two people"), people["percent"]["n"], *empty, _rounded(people["mean_kappa"])])
    faint = rows_with_few(cells, 1)
    return Chart(
        name="labels",
        title=_("Do its labels agree with people's?"),
        note=add_few(_("Against the final labels; the last column is the mean κ with a person."), faint),
        head=["", "n", *_measure_head(LABEL_MEASURES), _("κ with a person")],
        rows=cells,
        faint=faint,
        decimals=SHOWN_DIGITS,
    )


def _draw_position_bias(report: Report, titles: Titles) -> Chart | None:
    rows = [figures for figures in ordered_figures(report) if figures["comparisons"]]
    if not rows:
        return None
    return Chart(
        name="position-bias",
        title=_("Does the order of two replies matter?"),
        note=_(
            "The probability that a reply is better when it is shown first, minus when it is shown second."
        ),
        head=[_("evaluator"), _("difference"), *interval_head(), _("mean distance"), "n"],
        rows=[
            [
                titles[figures["name"]],
                *_cells(find_estimate(figures, "comparisons", "position_bias")),
                _rounded(figures["comparisons"]["mean_gap"]),
                figures["comparisons"]["position_bias"]["n"],
            ]
            for figures in rows
        ],
        decimals=SHOWN_DIGITS,
    )


def _point_charts(evaluation: MetaEvaluation, titles: Titles) -> list[Chart]:
    """People's score and the evaluator's, one plot for each evaluator."""
    return [
        _draw_points(f"points-{number}", titles[name], [Place(x, y, "") for x, y in evaluation.points[name]])
        for number, name in enumerate(evaluation.report["ranking"], start=1)
        if evaluation.points.get(name)
    ]


def _draw_points(name: str, title: str, places: Sequence[Place]) -> Chart:
    n = len(places)
    return Chart(
        name=name,
        title=title,
        note=ngettext("n = %(n)s reply", "n = %(n)s replies", n) % {"n": intcomma(n)},
        head=[_("people's score"), _("its score"), ""],
        rows=[[round(place.x, DIGITS), round(place.y, DIGITS), place.title] for place in places],
        svg=draw_places(places, x=_("people's score"), y=_("its score"), description=title),
        decimals=SHOWN_DIGITS,
    )


def _draw_systems(report: Report, titles: Titles) -> Chart:
    rows = ordered_figures(report)
    title = _("Which evaluator ranks systems as people do?")
    return Chart(
        name="systems",
        title=title,
        note=ngettext("n = %(n)s system", "n = %(n)s systems", report["n_systems"])
        % {"n": intcomma(report["n_systems"])},
        head=[_("evaluator"), *_measure_head(MEASURES)],
        rows=[[titles[figures["name"]], *_all_cells(figures["systems"], MEASURES)] for figures in rows],
        svg=draw_estimates(
            [titles[figures["name"]] for figures in rows],
            [
                estimate.mark(titles[figures["name"]])
                if (estimate := find_estimate(figures["systems"], "spearman"))
                else None
                for figures in rows
            ],
            x="Spearman ρ",
            description=title,
        ),
        decimals=SHOWN_DIGITS,
    )


def _system_places(report: Report, titles: Titles) -> list[Chart]:
    """The mean scores of the systems, one plot for each evaluator."""
    return [
        _draw_points(
            f"points-{number}",
            titles[figures["name"]],
            [Place(each["human"], each["score"], each["system"]) for each in figures["systems"]["means"]],
        )
        for number, figures in enumerate(ordered_figures(report), start=1)
        if figures["systems"]["means"]
    ]
