"""The report as an HTML page without scripts or links: tables, and a scatter plot with its table per evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from plots.scatter import Place, draw_places
from plots.standalone import draw_figure
from preference.training.common.html_report import heading, html_page, html_table, paragraph
from preference.training.common.messages import gettext as _
from preference.training.meta.data import EvaluatorResult, JudgedReply
from preference.training.meta.table import MEASURES, format_estimate, format_p, ordered, table

Figures = Mapping[str, Any]
Plot = tuple[str, Markup]  # name of the evaluator, SVG


def scatter_plots(replies: Sequence[JudgedReply], results: Sequence[EvaluatorResult]) -> list[Plot]:
    """One plot for each evaluator, in their order."""
    return [(result.name, _scatter(replies, result)) for result in results]


def render_report(
    report: Figures,
    replies: Sequence[JudgedReply],
    results: Sequence[EvaluatorResult],
    plots: Sequence[Plot],
) -> str:
    """The page."""
    by_name = {result.name: result for result in results}
    parts = [
        *map(paragraph, [str(report["data"]["path"]), *report["notes"]]),
        heading(_("Correlation with people")),
        _correlations(report),
        heading(_("Differences")),
        _differences(report),
        *_people(report["people"], report["ranking"]),
    ]
    for name, svg in plots:
        parts += [heading(name), draw_figure(svg), _points_table(replies, by_name[name])]
    parts += [heading(_("All figures")), f"<pre>{escape(table(report))}</pre>"]
    return html_page(_("Evaluators compared with people"), parts)


def _scatter(replies: Sequence[JudgedReply], result: EvaluatorResult) -> Markup:
    points = [
        Place(reply.reply.human, score.value, reply.reply.id)
        for reply, score in zip(replies, result.scores, strict=True)
        if reply.reply.human is not None and score.value is not None
    ]
    description = _("Scores of %(name)s by people's scores, %(count)s replies") % {
        "name": result.name,
        "count": len(points),
    }
    return draw_places(points, x=_("people's score"), y=result.name, description=description)


def _correlations(report: Figures) -> str:
    header = [_("Evaluator"), *(name.capitalize() for name in MEASURES), _("Scored"), _("Without a score")]
    rows = [
        [
            figures["name"],
            *(format_estimate(figures[name]) for name in MEASURES),
            figures["n_scored"],
            figures["n_unscored"],
        ]
        for figures in ordered(report)
    ]
    return html_table(header, rows)


def _differences(report: Figures) -> str:
    header = [_("Evaluators"), _("Measure"), _("Difference"), "p", _("p, adjusted"), "n"]
    rows = [
        [
            f"{row['one']} - {row['other']}",
            row["measure"].capitalize(),
            format_estimate(row["difference"]),
            format_p(row["p"]),
            format_p(row["p_adjusted"]),
            row["difference"]["n"],
        ]
        for row in report["differences"]
    ]
    return html_table(header, rows)


def _people(people: Figures | None, ranking: Sequence[str]) -> list[str]:
    """Each person and each evaluator against the mean of the other people; nothing without several people."""
    if people is None:
        return []
    names = [name for name in MEASURES if name in people]
    rows = [
        [
            _("A person, on average"),
            people[names[0]]["mean"]["n"],
            *(format_estimate(people[name]["mean"]) for name in names),
        ]
    ]
    for evaluator in ranking:
        found = [people[name]["evaluators"][evaluator] for name in names]
        title = _("%(name)s, minus a person") % {"name": evaluator}
        rows.append(
            [title, found[0]["difference"]["n"], *(format_estimate(each["difference"]) for each in found)]
        )
    header = [_("Against the other people"), "n", *(name.capitalize() for name in names)]
    return [heading(_("People beside machines")), html_table(header, rows)]


def _points_table(replies: Sequence[JudgedReply], result: EvaluatorResult) -> str:
    header = [_("Reply"), _("People's score"), result.name, _("Reason")]
    rows = [
        [reply.reply.id, _number(reply.reply.human), _number(score.value), score.reason]
        for reply, score in zip(replies, result.scores, strict=True)
    ]
    return f"<details><summary>{escape(_('Table'))}</summary>{html_table(header, rows)}</details>"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
