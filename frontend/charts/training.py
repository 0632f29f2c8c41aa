"""The loss of a training run, and what it measured of held-out turns."""

from collections.abc import Sequence
from dataclasses import astuple

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from frontend.charts.chart import Cell, Chart, round_value
from plots.lines import draw_lines
from plots.marks import Mark
from preference.runs.selectors import Curve, Point

POINTS = 48  # more would touch on a narrow screen
DIGITS = 4  # in files
SHOWN_DIGITS = 3  # on pages


def draw_loss(curve: Curve) -> Chart:
    """The loss by step, of a joint training with its two parts and that of held-out turns.

    Points of a long run are means over several steps.
    """
    title = _("Does the loss fall?")
    words = {"loss": _("loss"), "nll": _("NLL of the human reply"), "ranking": _("ranking")}
    is_joint = not curve.points or curve.points[-1].nll is not None
    keys = ("loss", "nll", "ranking") if is_joint else ("loss",)
    names = [words[key] for key in keys]
    columns = [[getattr(point, key) or 0.0 for point in curve.points] for key in keys]
    if is_validated(curve):
        names.append(held_out_loss())
        columns.append([point.valid.loss if point.valid else None for point in curve.points])
    svg = _draw(curve, names, columns, title, _("nats"))
    rows: list[list[Cell]] = [
        [_span(point), point.epoch, *(round_value(column[at], DIGITS) for column in columns),
         f"{point.lr:.3g}", round(point.seconds, 1)]
        for at, point in enumerate(curve.points)
    ]  # fmt: skip
    head = [_("step"), _("epoch"), *names, _("learning rate"), _("seconds")]
    return Chart("loss", title, _note(curve.points, is_joint=is_joint), head, rows, svg, names)


def draw_held_out(curve: Curve) -> Chart:
    """What a joint training measured of held-out turns: how well it ranks, and in the table also its losses."""
    title = _("Does it rank what people wrote first?")
    names = [p_at_1(), _("pairs in the right order")]
    measured = [(point, point.valid) for point in curve.points if point.valid]
    keys = ("p_at_1", "pair_accuracy")
    columns = [[getattr(point.valid, key) if point.valid else None for point in curve.points] for key in keys]
    svg = _draw(curve, names, columns, title, _("share"))
    rows: list[list[Cell]] = [
        [_span(point), point.epoch, *(round(value, DIGITS) for value in astuple(valid))]
        for point, valid in measured
    ]
    losses = [held_out_loss(), _("NLL of the human reply"), _("ranking")]
    head = [_("step"), _("epoch"), *losses, *names]
    note = _("Turns held out for validation, by preference score among all candidates shown.")
    return Chart("ranking", title, note, head, rows, svg, names, decimals=SHOWN_DIGITS)


def is_validated(curve: Curve) -> bool:
    return any(point.valid for point in curve.points)


def held_out_loss() -> str:
    return _("loss on held-out turns")


def p_at_1() -> str:
    return _("P@1 on held-out turns")


def _draw(
    curve: Curve, names: Sequence[str], columns: Sequence[Sequence[float | None]], title: str, y: str
) -> str:
    """A line for each column; between validations the line goes on."""
    series = [
        [_mark(point, name, value) for point, value in zip(curve.points, values, strict=True)]
        for name, values in zip(names, columns, strict=True)
    ]
    labels = [str(point.step) for point in curve.points]
    if not labels:
        return ""
    return draw_lines(labels, series, x=_("step"), y=y, description=title, bridges_gaps=True)


def _mark(point: Point, name: str, value: float | None) -> Mark | None:
    if value is None:
        return None
    return Mark(value, f"{_('step %(steps)s') % {'steps': _span(point)}} · {name} {value:.{SHOWN_DIGITS}f}")


def _note(points: Sequence[Point], *, is_joint: bool) -> str:
    if not points:
        return _("loss = NLL + ranking")
    last = points[-1].step
    n = ngettext("n = %(n)s step", "n = %(n)s steps", last) % {"n": intcomma(last)}
    notes = [n, *([_("loss = NLL + ranking")] if is_joint else [])]
    if size := max(point.step - point.first + 1 for point in points) if len(points) < last else 0:
        notes.append(
            ngettext("means of %(n)s step", "means of up to %(n)s steps", size) % {"n": intcomma(size)}
        )
    return " · ".join(notes)


def _span(point: Point) -> str:
    return str(point.step) if point.first == point.step else f"{point.first}–{point.step}"
