"""The report of an assessor: figures of all compared models, and mistakes and calibration of the registered one."""

from collections.abc import Mapping
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from frontend.charts.chart import Cell, Chart
from plots.reliability import Bin, draw_reliability

Report = Mapping[str, Any]
SHOWN = ("accuracy", "uar", "f1", "kappa", "spearman", "mae", "ece")


def draw_assessor_report(report: Report) -> list[Chart]:
    """Metrics with intervals, confusion matrix and reliability; [] for a report without models."""
    if not report.get("models"):
        return []
    chosen = report["models"].get(report.get("chosen"))
    return [
        _tabulate_metrics(report),
        *([_tabulate_confusion(chosen), _draw_reliability(chosen)] if chosen else []),
    ]


def _tabulate_metrics(report: Report) -> Chart:
    """A row for each model, the registered one first, the others by macro F1."""
    names = {
        "accuracy": _("accuracy"),
        "uar": _("average recall"),
        "f1": _("macro F1"),
        "kappa": "κ",
        "spearman": _("Spearman"),
        "mae": _("mean error"),
        "ece": _("calibration error"),
    }
    models = sorted(report["models"].items(), key=lambda item: _rank(report, *item))
    rows: list[list[Cell]] = [
        [model, *(_figure(about["metrics"].get(name)) for name in SHOWN)] for model, about in models
    ]
    tested = max(about["tested"] for about in report["models"].values())
    note = ngettext(
        "n = %(n)s dialogue of the split test, 95 %% intervals",
        "n = %(n)s dialogues of the split test, 95 %% intervals",
        tested,
    )
    head = ["", *(names[name] for name in SHOWN)]
    return Chart(
        "metrics", _("Which model agrees best with people?"), note % {"n": intcomma(tested)}, head, rows
    )


def _rank(report: Report, model: str, about: Report) -> tuple[bool, float]:
    return model != report.get("chosen"), -(about["metrics"].get("f1", {}).get("value") or 0.0)


def _figure(figure: Mapping[str, Any] | None) -> str | None:
    """ "0.625 (0.51 to 0.74)"; None where it is undefined."""
    if not figure or figure.get("value") is None:
        return None
    text = f"{figure['value']:.3f}"
    if figure.get("low") is None or figure.get("high") is None:
        return text
    interval = _("%(low)s to %(high)s") % {"low": f"{figure['low']:.2f}", "high": f"{figure['high']:.2f}"}
    return f"{text} ({interval})"


def _tabulate_confusion(chosen: Report) -> Chart:
    head = [_("people"), *(_("model: %(label)s") % {"label": label} for label in chosen["classes"])]
    rows: list[list[Cell]] = [
        [str(label), *counts] for label, counts in zip(chosen["classes"], chosen["confusion"], strict=True)
    ]
    note = _("Rows: the final label. Columns: what the registered model predicts.")
    return Chart("confusion", _("What does it mistake for what?"), note, head, rows)


def _draw_reliability(chosen: Report) -> Chart:
    """How often predictions of some confidence are right."""
    title, x, y = (
        _("Is it as sure as it is right?"),
        _("confidence of the prediction"),
        _("share that is right"),
    )
    bins = [one for one in chosen["reliability"] if one["n"]]
    labels = [f"{one['low']:.1f}–{one['high']:.1f}" for one in bins]
    bars = [
        Bin(one["low"], one["high"], one["accuracy"], f"{label} · {y} {one['accuracy']:.2f} (n = {one['n']})")
        for label, one in zip(labels, bins, strict=True)
    ]
    rows: list[list[Cell]] = [
        [label, one["n"], round(one["accuracy"], 3), round(one["confidence"], 3)]
        for label, one in zip(labels, bins, strict=True)
    ]
    head = [x, _("Dialogues"), y, _("mean confidence")]
    note = _("If it is, each bar ends at the dashed line.")
    svg = draw_reliability(bars, x=x, y=y, description=title) if bins else ""
    return Chart("reliability", title, note, head, rows, svg)
