"""The report as one HTML file: tables, and plots that each have their table.

Everything in it is in report.json, too; this module only words and draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from plots.heat_map import draw_confusion
from plots.lines import draw_lines
from plots.marks import Mark
from plots.reliability import Bin, draw_reliability
from plots.rows import draw_rows
from plots.standalone import draw_figure
from preference.training.assessor.experiments import CURVE_METRICS, TABLE_4
from preference.training.assessor.figures import METRICS
from preference.training.common.html_report import Cells, bullets, heading, html_page, html_table, paragraph
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext

Report = Mapping[str, Any]


def render_report(report: Report) -> str:
    """A whole page. report: as `run.build_report` returns it, with experiments."""
    return html_page(_("Assessors of dialogues"), _sections(report))


def _sections(report: Report) -> Iterator[str]:
    yield heading(_("Data"))
    yield _splits_table(report)
    yield bullets(report["notes"])
    yield heading(_("All models"))
    yield paragraph(_("On the split test, with 95 % intervals (bootstrap over dialogues)."))
    yield _models_table(report)
    yield bullets(f"{model}: {cause}" for model, cause in report["failures"].items())
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
    return html_table([_("split"), _("Dialogues"), *classes], rows)


def _models_table(report: Report) -> str:
    names = [
        name for name in METRICS if any("reason" not in m["metrics"][name] for m in report["models"].values())
    ]
    rows = [
        [model, *(format_estimate(about["metrics"][name]) for name in names)]
        for model, about in report["models"].items()
    ]
    return html_table([_("model"), *names], rows)


def _model_section(model: str, about: Report) -> Iterator[str]:
    """Confusion and reliability of one model."""
    yield heading(model)
    yield paragraph(" ".join(_model_facts(about)))
    classes = about["classes"]
    yield heading(_("Confusion"), 3)
    names = [str(name) for name in classes]
    description = _("Confusion of %(model)s") % {"model": model}
    yield draw_figure(draw_confusion(names, about["confusion"], x=_("prediction"), description=description))
    rows = [
        [name, *row, _format(recall)]
        for name, row, recall in zip(classes, about["confusion"], about["recalls"], strict=True)
    ]
    yield html_table([_("label"), *classes, _("recall")], rows)
    if not about["reliability"]:
        return
    yield heading(_("Reliability"), 3)
    yield draw_figure(
        draw_reliability(
            [*_confidence_bins(about["reliability"])],
            x=_("confidence"),
            y=_("accuracy"),
            description=_("Reliability of %(model)s") % {"model": model},
        )
    )
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
    yield html_table([_("confidence"), _("Dialogues"), _("mean confidence"), _("accuracy")], bins)


def _confidence_bins(rows: Iterable[Report]) -> Iterator[Bin]:
    for row in rows:
        if row["n"]:
            low, high, accuracy = row["low"], row["high"], row["accuracy"]
            yield Bin(low, high, accuracy, f"{low:.2f}-{high:.2f}: {accuracy:.3f} (n = {row['n']})")


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
    yield heading(_("Experiments with %(model)s") % {"model": found["model"]})
    if "leave_out" in found:
        yield from _leave_out_section(found["leave_out"])
    if "perturb" in found:
        yield from _perturb_section(found["perturb"], report["task"]["classes"])
    if "curve" in found:
        yield from _curve_sections(found["curve"])


def _leave_out_section(rows: Sequence[Report]) -> Iterator[str]:
    yield heading(_("A domain left out"), 3)
    yield paragraph(
        _("Each domain is tested twice: by the model of the table, and by one trained without this domain.")
    )
    kinds = (("with", _("all")), ("without", _("without it")))
    cells: list[Cells] = []
    for row in rows:
        for key, name in kinds:
            figures = row[key]
            values = [format_estimate(figures[metric]) for metric in TABLE_4] if figures else []
            cells.append([row["domain"], name, row["n"], *(values or [row.get("reason", "")])])
    yield html_table([_("domain"), _("trained on"), _("Dialogues"), *TABLE_4], cells)


def _perturb_section(found: Report, classes: Sequence[object]) -> Iterator[str]:
    names = {"original": _("unchanged"), "positive": _("satisfied"), "negative": _("dissatisfied")}
    yield heading(_("A feeling at the end"), 3)
    yield paragraph(
        _("A sentence that shows satisfaction, or the opposite, is added to the end of every dialogue.")
    )
    series = {names[key]: row["distribution"] for key, row in found.items()}
    marks = [
        [Mark(value, f"{name}, {label}: {value:.3f}") for label, value in zip(classes, values, strict=True)]
        for name, values in series.items()
    ]
    x, labels = _("share of dialogues"), [str(label) for label in classes]
    yield draw_figure(draw_rows(labels, marks, x=x, description=_("A feeling at the end")), legend=[*series])
    shares = [[name, *(_format(value) for value in values)] for name, values in series.items()]
    yield html_table([_("ending"), *classes], shares)
    rows = [
        [
            names[key],
            *(format_estimate(row["metrics"][metric]) for metric in TABLE_4),
            format_estimate(row["shift"]) if "shift" in row else "",
        ]
        for key, row in found.items()
    ]
    yield html_table([_("ending"), *TABLE_4, _("mean shift")], rows)


def _curve_sections(found: Report) -> Iterator[str]:
    yield heading(_("Number of training dialogues"), 3)
    yield _draw_curves(
        [row["train"] for row in found["data"]],
        [[_mean_mark(row, name) for row in found["data"]] for name in CURVE_METRICS],
        x=_("training dialogues"),
        y=_("mean of the seeds"),
    )
    rows = [
        [row["train"], *(_format_runs(row, name) for name in CURVE_METRICS), _reasons(row["runs"])]
        for row in found["data"]
    ]
    yield html_table([_("training dialogues"), *CURVE_METRICS, ""], rows)
    yield from _single_curve(_("Longest input"), _("tokens"), "max_length", found["length"])
    yield from _single_curve(_("Number of weights"), _("weights"), "parameters", found["size"])


def _draw_curves(numbers: Sequence[float], series: Sequence[Sequence[Mark | None]], *, x: str, y: str) -> str:
    """A line for each of CURVE_METRICS on a logarithmic axis, or nothing without numbers. numbers: in any order."""
    if not numbers:
        return ""
    order = sorted(range(len(numbers)), key=lambda n: numbers[n])
    svg = draw_lines(
        [short_number(numbers[n]) for n in order],
        [[marks[n] for n in order] for marks in series],
        x=x,
        y=y,
        description=f"{y}, {x}",
        at=[numbers[n] for n in order],
    )
    return draw_figure(svg, legend=CURVE_METRICS)


def _mean_mark(row: Report, metric: str) -> Mark | None:
    """The mean of the runs, with the least and the largest of them as its interval."""
    values = [run[metric] for run in row["runs"] if run[metric] is not None]
    if not values:
        return None
    mean, low, high = row["mean"][metric], min(values), max(values)
    return Mark(mean, f"{row['train']}: {mean:.3f} [{low:.3f}, {high:.3f}]", (low, high))


def _format_runs(row: Report, metric: str) -> str:
    values = [run[metric] for run in row["runs"]]
    return f"{_format(row['mean'][metric])} ({', '.join(map(_format, values))})"


def _reasons(runs: Iterable[Report]) -> str:
    return " ".join(sorted({run["reason"] for run in runs if "reason" in run}))


def _single_curve(title: str, label: str, key: str, rows: Sequence[Report]) -> Iterator[str]:
    """A curve with one run for each point; nothing for a model that has none."""
    if not rows:
        return
    yield heading(title, 3)
    series = [[_run_mark(row, key, name) for row in rows] for name in CURVE_METRICS]
    yield _draw_curves([row[key] for row in rows], series, x=label, y=_("on the split test"))
    names = [[row["model"]] if "model" in row else [] for row in rows]
    cells = [
        [*name, row[key], *(_format(row[metric]) for metric in CURVE_METRICS), row.get("reason", "")]
        for name, row in zip(names, rows, strict=True)
    ]
    yield html_table([*([_("model")] if names[0] else []), label, *CURVE_METRICS, ""], cells)


def _run_mark(row: Report, key: str, metric: str) -> Mark | None:
    value = row[metric]
    return None if value is None else Mark(value, f"{row.get('model', row[key])}: {value:.3f}")


# Numbers


def short_number(value: float) -> str:
    """1500000 as 1.5 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:g}"


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def format_estimate(estimate: Mapping[str, Any]) -> str:
    """The value, with its interval below; a dash if it is undefined."""
    value = _format(estimate["value"])
    if estimate["value"] is None or estimate["low"] is None:
        return value
    return f"{value}\n{estimate['low']:.3f} … {estimate['high']:.3f}"
