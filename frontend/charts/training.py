"""The loss of a training run."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from frontend.charts.chart import Cell, Chart
from plots.lines import draw_lines
from plots.marks import Mark
from preference.runs.selectors import Curve, Point

POINTS = 48  # more would touch on a narrow screen
DIGITS = 4


def draw_loss(curve: Curve) -> Chart:
    """The loss by step, of a joint training with its two parts. Points of a long run are means over several steps."""
    title = _("Does the loss fall?")
    words = {"loss": _("loss"), "nll": _("NLL of the human reply"), "ranking": _("ranking")}
    is_joint = not curve.points or curve.points[-1].nll is not None
    keys = ("loss", "nll", "ranking") if is_joint else ("loss",)
    names = [words[key] for key in keys]
    parts = [[getattr(point, key) or 0.0 for point in curve.points] for key in keys]
    labels = [str(point.step) for point in curve.points]
    series = [
        [_mark(point, name, value) for point, value in zip(curve.points, values, strict=True)]
        for name, values in zip(names, parts, strict=True)
    ]
    x, y = _("step"), _("nats")
    svg = draw_lines(labels, series, x=x, y=y, description=title) if curve.points else ""
    rows: list[list[Cell]] = [
        [_span(point), point.epoch, *(round(getattr(point, key) or 0.0, DIGITS) for key in keys),
         f"{point.lr:.3g}", round(point.seconds, 1)]
        for point in curve.points
    ]  # fmt: skip
    head = [x, _("epoch"), *names, _("learning rate"), _("seconds")]
    return Chart("loss", title, _note(curve.points, is_joint=is_joint), head, rows, svg, names)


def _mark(point: Point, name: str, value: float) -> Mark:
    return Mark(value, f"{_('step %(steps)s') % {'steps': _span(point)}} · {name} {value:.3f}")


def _note(points: Sequence[Point], *, is_joint: bool) -> str:
    if not points:
        return _("loss = NLL + ranking")
    last = points[-1].step
    n = ngettext("n = %(n)d step", "n = %(n)d steps", last) % {"n": last}
    notes = [n, *([_("loss = NLL + ranking")] if is_joint else [])]
    if size := max(point.step - point.first + 1 for point in points) if len(points) < last else 0:
        notes.append(ngettext("means of %(n)d step", "means of up to %(n)d steps", size) % {"n": size})
    return " · ".join(notes)


def _span(point: Point) -> str:
    return str(point.step) if point.first == point.step else f"{point.first}–{point.step}"
