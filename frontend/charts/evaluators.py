"""Scores of evaluators."""

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from frontend.charts.chart import Chart
from plots.columns import draw_columns
from plots.marks import Mark
from preference.evaluators.catalogue import KINDS, run_title
from preference.evaluators.models import ScoringRun

DIGITS = 4  # of a score in files
SHOWN_DIGITS = 3  # on pages


def draw_histogram(run: ScoringRun) -> Chart:
    """How the scores of a finished run are distributed."""
    bins = run.summary.get("histogram", [])
    labels = [f"{low:.3g}" for low, _high, _n in bins]
    marks = [Mark(n, f"{low:.{DIGITS}g} – {high:.{DIGITS}g}: {n}") for low, high, n in bins]
    title = _("How are the scores distributed?")
    note = ngettext("n = %(n)s score", "n = %(n)s scores", run.scored) % {"n": intcomma(run.scored)}
    description = f"{title} {run_title(run)}: {KINDS[run.evaluator].meaning}, {note}"
    svg = draw_columns(labels, marks, x=_("score"), y=_("rows"), description=description)
    return Chart(
        name="scores",
        title=title,
        note=note,
        head=[_("from"), _("to"), _("rows")],
        rows=[[round(low, DIGITS), round(high, DIGITS), n] for low, high, n in bins],
        svg=svg if bins else "",
        decimals=SHOWN_DIGITS,
    )
