"""The report as one HTML file: tables, and plots that each have their table.

Everything in it is in report.json, too; this module only words and draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from preference.training.assessor.charts import (
    Point,
    bar_plot,
    confusion_plot,
    line_plot,
    reliability_plot,
    short_number,
)
from preference.training.assessor.experiments import CURVE_METRICS, TABLE_4
from preference.training.assessor.figures import METRICS
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext

Report = Mapping[str, Any]
Cells = Sequence[object]

STYLE = """
:root { color-scheme: light dark; --ink: #1d1f25; --paper: #fff; --line: #d8d5cf; --soft: 41 78 178;
  --s0: #294eb2; --s1: #a33b12; --s2: #0f663a; --s3: #6a3fa0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --paper: #17181c; --line: #3a3b41; --soft: 130 160 255;
  --s0: #86a4ff; --s1: #ff9c73; --s2: #6fd39b; --s3: #c2a2ff; } }
body { font: 15px/1.55 system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif; color: var(--ink);
  background: var(--paper); max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; display: block; overflow-x: auto; }
th, td { padding: 0.25rem 0.6rem; vertical-align: top; white-space: nowrap; text-align: right;
  border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 35rem; width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12px; }
.grid { stroke: var(--line); } .ideal { stroke: var(--ink); stroke-dasharray: 4 4; }
.cell { fill: rgb(var(--soft) / calc(0.05 + 0.6 * var(--share))); }
.curve { fill: none; stroke-width: 2; }
.mark.s0 { fill: var(--s0); } .mark.s1 { fill: var(--s1); } .mark.s2 { fill: var(--s2); } .mark.s3 { fill: var(--s3); }
.curve.s0, .range.s0 { stroke: var(--s0); } .curve.s1, .range.s1 { stroke: var(--s1); }
.curve.s2, .range.s2 { stroke: var(--s2); } .curve.s3, .range.s3 { stroke: var(--s3); }
"""


def render_report(report: Report) -> str:
    """A whole page. report: as `run.build_report` returns it, with experiments."""
    title = escape(_("Assessors of dialogues"))
    body = "\n".join(_sections(report))
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    )


def _sections(report: Report) -> Iterator[str]:
    yield _heading(_("Data"))
    yield _splits_table(report)
    yield _list(report["notes"])
    yield _heading(_("All models"))
    yield _paragraph(_("On the split test, with 95 % intervals (bootstrap over dialogues)."))
    yield _models_table(report)
    yield _list(f"{model}: {cause}" for model, cause in report["failures"].items())
    for model, about in report["models"].items():
        yield from _model_section(model, about)
    yield from _experiment_sections(report)


# All models


def _splits_table(report: Report) -> str:
    classes = [str(name) for name in report["task"]["classes"]]
    rows = [
        [split, sum(counts.values()), *(counts[name] for name in classes)]
        for split, counts in report["splits"].items()
    ]
    return table([_("split"), _("Dialogues"), *classes], rows)


def _models_table(report: Report) -> str:
    names = [
        name for name in METRICS if any("reason" not in m["metrics"][name] for m in report["models"].values())
    ]
    rows = [
        [model, *(format_estimate(about["metrics"][name]) for name in names)]
        for model, about in report["models"].items()
    ]
    return table([_("model"), *names], rows)


def _model_section(model: str, about: Report) -> Iterator[str]:
    """Confusion and reliability of one model."""
    yield _heading(model)
    yield _paragraph(" ".join(_model_facts(about)))
    classes = about["classes"]
    yield _heading(_("Confusion"), 3)
    yield confusion_plot(classes, about["confusion"], (_("label"), _("prediction")))
    rows = [
        [name, *row, _format(recall)]
        for name, row, recall in zip(classes, about["confusion"], about["recalls"], strict=True)
    ]
    yield table([_("label"), *classes, _("recall")], rows)
    if not about["reliability"]:
        return
    yield _heading(_("Reliability"), 3)
    yield reliability_plot(about["reliability"], (_("confidence"), _("accuracy")))
    bins = [
        [
            f"{one['low']:.2f}-{one['high']:.2f}",
            one["n"],
            _format(one["confidence"]),
            _format(one["accuracy"]),
        ]
        for one in about["reliability"]
        if one["n"]
    ]
    yield table([_("confidence"), _("Dialogues"), _("mean confidence"), _("accuracy")], bins)


def _model_facts(about: Report) -> Iterator[str]:
    if about["parameters"] is not None:
        yield _("%(count)s weights.") % {"count": short_number(about["parameters"])}
        yield ngettext(
            "Epoch %(best)s of %(count)s is the best on the split valid.",
            "Epoch %(best)s of %(count)s is the best on the split valid.",
            len(about["epochs"]),
        ) % {"best": about["best_epoch"], "count": len(about["epochs"])}
    yield _("Macro F1 on the split valid: %(value)s.") % {"value": _format(about["valid_f1"])}


# Experiments


def _experiment_sections(report: Report) -> Iterator[str]:
    found = report["experiments"]
    if not found:
        return
    yield _heading(_("Experiments with %(model)s") % {"model": found["model"]})
    if "leave_out" in found:
        yield from _leave_out_section(found["leave_out"])
    if "perturb" in found:
        yield from _perturb_section(found["perturb"], report["task"]["classes"])
    if "curve" in found:
        yield from _curve_sections(found["curve"])


def _leave_out_section(rows: Sequence[Report]) -> Iterator[str]:
    yield _heading(_("A domain left out"), 3)
    yield _paragraph(
        _("Each domain is tested twice: by the model of the table, and by one trained without this domain.")
    )
    kinds = (("with", _("all")), ("without", _("without it")))
    cells: list[Cells] = []
    for row in rows:
        for key, name in kinds:
            figures = row[key]
            values = [format_estimate(figures[metric]) for metric in TABLE_4] if figures else []
            cells.append([row["domain"], name, row["n"], *(values or [row.get("reason", "")])])
    yield table([_("domain"), _("trained on"), _("Dialogues"), *TABLE_4], cells)


def _perturb_section(found: Report, classes: Sequence[object]) -> Iterator[str]:
    names = {"original": _("unchanged"), "positive": _("satisfied"), "negative": _("dissatisfied")}
    yield _heading(_("A feeling at the end"), 3)
    yield _paragraph(
        _("A sentence that shows satisfaction, or the opposite, is added to the end of every dialogue.")
    )
    series = {names[key]: row["distribution"] for key, row in found.items()}
    yield bar_plot(classes, series, (_("prediction"), _("share of dialogues")))
    shares = [[name, *(_format(value) for value in values)] for name, values in series.items()]
    yield table([_("ending"), *classes], shares)
    rows = [
        [
            names[key],
            *(format_estimate(row["metrics"][metric]) for metric in TABLE_4),
            format_estimate(row["shift"]) if "shift" in row else "",
        ]
        for key, row in found.items()
    ]
    yield table([_("ending"), *TABLE_4, _("mean shift")], rows)


def _curve_sections(found: Report) -> Iterator[str]:
    yield _heading(_("Number of training dialogues"), 3)
    yield line_plot(
        {name: [*_mean_points(found["data"], name)] for name in CURVE_METRICS},
        (_("training dialogues"), _("mean of the seeds")),
    )
    rows = [
        [row["train"], *(_format_runs(row, name) for name in CURVE_METRICS), _reasons(row["runs"])]
        for row in found["data"]
    ]
    yield table([_("training dialogues"), *CURVE_METRICS, ""], rows)
    yield from _single_curve(_("Longest input"), _("tokens"), "max_length", found["length"])
    yield from _single_curve(_("Number of weights"), _("weights"), "parameters", found["size"])


def _mean_points(rows: Iterable[Report], metric: str) -> Iterator[Point]:
    for row in rows:
        values = [run[metric] for run in row["runs"] if run[metric] is not None]
        if values:
            mean = row["mean"][metric]
            title = f"{row['train']}: {mean:.3f} [{min(values):.3f}, {max(values):.3f}]"
            yield Point(row["train"], mean, min(values), max(values), title)


def _format_runs(row: Report, metric: str) -> str:
    values = [run[metric] for run in row["runs"]]
    return f"{_format(row['mean'][metric])} ({', '.join(map(_format, values))})"


def _reasons(runs: Iterable[Report]) -> str:
    return " ".join(sorted({run["reason"] for run in runs if "reason" in run}))


def _single_curve(title: str, label: str, key: str, rows: Sequence[Report]) -> Iterator[str]:
    """A curve with one run for each point; nothing for a model that has none."""
    if not rows:
        return
    yield _heading(title, 3)
    series = {
        name: [
            Point(row[key], row[name], title=f"{row.get('model', row[key])}: {row[name]:.3f}")
            for row in rows
            if row[name] is not None
        ]
        for name in CURVE_METRICS
    }
    yield line_plot(series, (label, _("on the split test")))
    names = [[row["model"]] if "model" in row else [] for row in rows]
    cells = [
        [*name, row[key], *(_format(row[metric]) for metric in CURVE_METRICS), row.get("reason", "")]
        for name, row in zip(names, rows, strict=True)
    ]
    yield table([*([_("model")] if names[0] else []), label, *CURVE_METRICS, ""], cells)


# HTML


def table(head: Cells, rows: Iterable[Cells]) -> str:
    """Cells are escaped; a line break in a cell stays one."""
    top = "".join(f"<th>{_cell(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return escape(str(value)).replace("\n", "<br>")


def _heading(words: str, level: int = 2) -> str:
    return f"<h{level}>{escape(words)}</h{level}>"


def _paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def _list(sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def format_estimate(estimate: Mapping[str, Any]) -> str:
    """The value, with its interval below; a dash if it is undefined."""
    value = _format(estimate["value"])
    if estimate["value"] is None or estimate["low"] is None:
        return value
    return f"{value}\n{estimate['low']:.3f} … {estimate['high']:.3f}"
