"""Several trainings on the same axes."""

from collections.abc import Callable, Sequence

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from frontend.charts.chart import Cell, Chart, round_value
from frontend.charts.training import DIGITS, POINTS, SHOWN_DIGITS, held_out_loss, p_at_1
from frontend.pages.learning.training_form import describe_recipe
from plots.lines import draw_lines
from plots.marks import Mark
from preference.runs.models import TrainingRun
from preference.runs.selectors import Point, RunCurve, Validation

ValueOf = Callable[[Point], float | None]


def draw_comparison(ends: Sequence[int], curves: Sequence[RunCurve]) -> list[Chart]:
    """The loss of every training, and what they measured of held-out turns, if any did.

    ends: the last step of each point, the same for all.
    """
    charts = [_draw("loss", _("Whose loss falls faster?"), _("loss"), _("nats"), ends, curves, _loss)]
    if any(curve.validations for curve in curves):
        charts += [
            _draw("held_out", _("Whose loss on held-out turns is lower?"), held_out_loss(), _("nats"), ends, curves,
                  _held_out_loss),
            _draw("p_at_1", _("Who ranks what people wrote first?"), p_at_1(), _("share"), ends, curves, _p_at_1),
        ]  # fmt: skip
    return charts


def tabulate_results(curves: Sequence[RunCurve]) -> Chart:
    """The final and the best values of every training."""
    head = [
        pgettext("models", "Training"), _("Recipe"), _("steps"), _("loss at the end"), _("held-out loss at the end"),
        _("lowest held-out loss"), _("at step"), _("P@1 at the end"), _("highest P@1"), _("at step"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            run_name(curve.run), describe_recipe(curve.run), curve.steps, round(curve.loss, DIGITS),
            _figure(curve.last, "loss"), _figure(curve.lowest_loss, "loss"), _step(curve.lowest_loss),
            _figure(curve.last, "p_at_1"), _figure(curve.highest_p_at_1, "p_at_1"), _step(curve.highest_p_at_1),
        ]
        for curve in curves
    ]  # fmt: skip
    note = _("Losses in nats. A training without figures on held-out turns was not validated.")
    return Chart("results", _("How do they end?"), note, head, rows, decimals=SHOWN_DIGITS)


def run_name(run: TrainingRun) -> str:
    return _("Training %(n)d") % {"n": run.number}


def _figure(validation: Validation | None, name: str) -> float | None:
    return round_value(getattr(validation.figures, name), DIGITS) if validation else None


def _step(validation: Validation | None) -> int | None:
    return validation.step if validation else None


def _loss(point: Point) -> float | None:
    return point.loss


def _held_out_loss(point: Point) -> float | None:
    return point.valid.loss if point.valid else None


def _p_at_1(point: Point) -> float | None:
    return point.valid.p_at_1 if point.valid else None


def _draw(
    name: str,
    title: str,
    measure: str,
    y: str,
    ends: Sequence[int],
    curves: Sequence[RunCurve],
    value_of: ValueOf,
) -> Chart:
    """A line for each training. measure: what the values are, for the note."""
    names = [run_name(curve.run) for curve in curves]
    columns = [
        [value_of(curve.points[end]) if end in curve.points else None for end in ends] for curve in curves
    ]
    series = [
        [_mark(end, run, value) for end, value in zip(ends, values, strict=True)]
        for run, values in zip(names, columns, strict=True)
    ]
    x = _("step")
    svg = draw_lines(
        [str(end) for end in ends], series, x=x, y=y, description=f"{title} {measure}", bridges_gaps=True
    )
    rows: list[list[Cell]] = [
        [end, *(round_value(column[at], DIGITS) for column in columns)]
        for at, end in enumerate(ends)
        if any(column[at] is not None for column in columns)
    ]
    return Chart(name, title, _note(measure, ends), [x, *names], rows, svg, names, decimals=SHOWN_DIGITS)


def _mark(end: int, name: str, value: float | None) -> Mark | None:
    if value is None:
        return None
    return Mark(value, f"{name} · {_('step %(steps)s') % {'steps': end}}: {value:.{SHOWN_DIGITS}f}")


def _note(measure: str, ends: Sequence[int]) -> str:
    if len(ends) <= POINTS and ends[0] == 1:
        return measure
    means = ngettext("means of %(n)s step", "means of up to %(n)s steps", ends[0]) % {"n": intcomma(ends[0])}
    return f"{measure} · {means}"
