"""The report as an HTML page without scripts or links: tables, and a scatter plot with its table per evaluator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from preference.training.common.messages import gettext as _
from preference.training.meta.data import EvaluatorResult, JudgedReply
from preference.training.meta.plots import Point, scatter_svg
from preference.training.meta.table import MEASURES, format_estimate, format_p, ordered, table

Figures = Mapping[str, Any]
STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:66rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .75rem;border-bottom:1px solid #8884;text-align:right}"
    "th:first-child,td:first-child{text-align:left}svg{max-width:28rem;width:100%}pre{overflow-x:auto}"
)
Plot = tuple[str, str]  # name of the evaluator, SVG


def scatter_plots(replies: Sequence[JudgedReply], results: Sequence[EvaluatorResult]) -> list[Plot]:
    """One plot for each evaluator, in their order."""
    return [(result.name, _scatter(replies, result)) for result in results]


def html_page(
    report: Figures,
    replies: Sequence[JudgedReply],
    results: Sequence[EvaluatorResult],
    plots: Sequence[Plot],
) -> str:
    """The page. Everything that comes from the data is escaped."""
    title = escape(_("Evaluators beside people"))
    by_name = {result.name: result for result in results}
    parts = [
        '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{title}</title><style>{STYLE}</style><h1>{title}</h1>",
        f"<p>{escape(str(report['data']['path']))}</p>",
        *(f"<p>{escape(note)}</p>" for note in report["notes"]),
        f"<h2>{escape(_('Correlation with people'))}</h2>",
        _correlations(report),
        f"<h2>{escape(_('Differences'))}</h2>",
        _differences(report),
        *_people(report["people"], report["ranking"]),
    ]
    for name, svg in plots:
        parts += [f"<h2>{escape(name)}</h2>{svg}", _points_table(replies, by_name[name])]
    parts += [f"<h2>{escape(_('All figures'))}</h2>", f"<pre>{escape(table(report))}</pre>"]
    return "\n".join(parts) + "\n"


def _scatter(replies: Sequence[JudgedReply], result: EvaluatorResult) -> str:
    points = [
        Point(reply.reply.human, score.value, reply.reply.id)
        for reply, score in zip(replies, result.scores, strict=True)
        if reply.reply.human is not None and score.value is not None
    ]
    description = _("Scores of %(name)s by people's scores, %(count)s replies") % {
        "name": result.name,
        "count": len(points),
    }
    return scatter_svg(points, x=_("people's score"), y=result.name, description=description)


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
    return _table(header, rows)


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
    return _table(header, rows)


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
    return [f"<h2>{escape(_('People beside machines'))}</h2>", _table(header, rows)]


def _points_table(replies: Sequence[JudgedReply], result: EvaluatorResult) -> str:
    header = [_("Reply"), _("People's score"), result.name, _("Reason")]
    rows = [
        [reply.reply.id, _number(reply.reply.human), _number(score.value), score.reason]
        for reply, score in zip(replies, result.scores, strict=True)
    ]
    return f"<details><summary>{escape(_('Table'))}</summary>{_table(header, rows)}</details>"


def _table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
