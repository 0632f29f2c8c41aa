"""The operating characteristic of a batch's plan: how likely it accepts a batch with so many wrong labels."""

import math

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.formats import localize
from django.utils.translation import gettext as _

from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.sample_progress import (
    SampleProgress,
    acceptance_curve,
    thresholds_of,
    wrong_allowed,
)
from frontend.charts.chart import Chart
from measures.acceptance import PlanPoint
from measures.estimate import Estimate
from plots.steps import Found, Limit, Step, draw_steps

MOST_STEPS = 400  # about one a pixel
TABLE_ROWS = 12
UNLIKELY = 0.005


def draw_operating_characteristic(sample: Sample, progress: SampleProgress) -> Chart:
    """With the rule and, once something is judged, what this sample says about its batch."""
    allowed = wrong_allowed(progress.sample, thresholds_of(sample).overall)
    limit = sample.population * allowed / progress.sample
    estimate = wrong_in_batch(sample, progress.accuracy)
    points = _curve(sample, progress.sample, max(limit, estimate[2] if estimate else 0.0))
    title = _("How likely is a batch with so many wrong labels accepted?")
    accepted = _("accepted by the overall rule (%)") if thresholds_of(sample).classes else _("accepted (%)")
    rows = [(sample.population - point.correct, 100 * point.probability) for point in points]
    svg = draw_steps(
        [Step(wrong, share, f"{wrong}: {share:.1f} %") for wrong, share in rows],
        Limit(limit, _describe_rule(sample, allowed, progress.sample)),
        Found(*estimate, name=_describe_found(progress)) if estimate else None,
        x=_("wrong labels among the %(n)s of the batch") % {"n": localize(sample.population, use_l10n=True)},
        y=accepted,
        description=title,
    )
    shown = rows[:: math.ceil(len(rows) / TABLE_ROWS)]
    head = [_("wrong labels"), _("wrong (%)"), accepted]
    table = [[wrong, round(100 * wrong / sample.population, 1), round(share, 1)] for wrong, share in shown]
    return Chart("acceptance", title, "", head, table, svg)


def wrong_in_batch(sample: Sample, accuracy: Estimate) -> tuple[float, float, float] | None:
    """The wrong labels of the batch: estimated, at least and at most; None before anything is judged."""
    if accuracy.value is None or accuracy.low is None or accuracy.high is None:
        return None
    value, low, high = (
        sample.population * (1 - share) for share in (accuracy.value, accuracy.high, accuracy.low)
    )
    return value, low, high


def _describe_rule(sample: Sample, allowed: int, size: int) -> str:
    counts = {"n": intcomma(allowed), "all": intcomma(size)}
    if thresholds_of(sample).classes:
        return _("overall rule: at most %(n)s of %(all)s") % counts
    return _("rule: at most %(n)s of %(all)s") % counts


def _describe_found(progress: SampleProgress) -> str:
    wrong = progress.judged - progress.right
    return _("this sample: %(n)s of %(all)s") % {"n": intcomma(wrong), "all": intcomma(progress.judged)}


def _curve(sample: Sample, size: int, least: float) -> list[PlanPoint]:
    """From 0 wrong labels to where a batch is hardly ever accepted, and at least to `least`."""
    stride = max(1, math.ceil(sample.population / 4 / MOST_STEPS))
    points: list[PlanPoint] = []
    for start in range(0, sample.population + 1, 50 * stride):
        counts = range(start, min(start + 50 * stride, sample.population + 1), stride)
        points += acceptance_curve(sample, size, counts)
        if points[-1].probability < UNLIKELY and counts[-1] >= least:
            break
    end = next((n for n, point in enumerate(points) if point.probability < UNLIKELY), len(points) - 1)
    needed = next(
        (n for n, point in enumerate(points) if sample.population - point.correct >= least), len(points) - 1
    )
    return points[: max(end, needed) + 1]
