"""What a sample says about its batch, as a person would say it: counts first, then percentages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.sample_progress import (
    SampleProgress,
    allowance_of,
    class_estimate,
    thresholds_of,
    wrong_allowed,
)
from annotation.tasks.models.rounds import Round, RoundState
from frontend.templatetags.ui import percent
from measures.acceptance import passes
from measures.batch_verdict import BatchVerdict, ClassTally
from measures.estimate import Estimate

NAMED = (1, 2)  # as many classes have their limits in a sentence


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A class of the table. allowed: how many may be wrong; None if the class is not looked at."""

    name: str
    tally: ClassTally
    wrong: int
    allowed: int | None
    right: str
    share: str


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """headline: the verdict and why. certainty: how much of the batch is right. rule, allowed: of all, in counts."""

    headline: str
    certainty: str
    rule: str
    allowed: int


def describe_verdict(
    row: Round,
    sample: Sample,
    progress: SampleProgress,
    classes: Sequence[ClassRow],
    names: Mapping[str, str],
    *,
    hidden: bool,
) -> VerdictWords:
    """names: of the classes, in words. hidden: how many of each class there are, and were drawn, is a secret."""
    allowed = wrong_allowed(progress.sample, thresholds_of(sample).overall)
    may_be = _may_be(sample, progress, names, hidden=hidden)
    return VerdictWords(
        f"{_verdict_word(row, progress)}{_(': ')}{_reason(row, sample, progress, classes, allowed, may_be)}",
        _describe_certainty(sample, progress.accuracy),
        _describe_rule(sample, progress.sample, allowed),
        allowed,
    )


def describe_class(name: str, tally: ClassTally, sample: Sample, *, hidden: bool) -> ClassRow:
    """hidden: how many of the class there are, and were drawn, is a secret."""
    share, estimate = thresholds_of(sample).classes, class_estimate(tally, hides_drawn=hidden)
    return ClassRow(
        name,
        tally,
        tally.judged - tally.correct,
        None if share is None or hidden else wrong_allowed(tally.sample, share),
        "" if hidden else count_right(estimate, tally.population),
        share_right(estimate),
    )


def count_right(estimate: Estimate, population: int) -> str:
    """The right labels in counts: "2 to 5 of the 8"."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = round(estimate.low * population), round(estimate.high * population)
    if low == high:
        return _("%(n)s of the %(all)s") % {"n": intcomma(low), "all": intcomma(population)}
    return _("%(low)s to %(high)s of the %(all)s") % {
        "low": intcomma(low),
        "high": intcomma(high),
        "all": intcomma(population),
    }


def share_right(estimate: Estimate) -> str:
    return f"{percent(estimate.low)} – {percent(estimate.high)}"


def _verdict_word(row: Round, progress: SampleProgress) -> str:
    if row.state in (RoundState.ACCEPTED, RoundState.RETURNED):
        return str(row.get_state_display())
    words = {
        BatchVerdict.ACCEPT: _("Accept the batch"),
        BatchVerdict.RETURN: _("Return the batch"),
        BatchVerdict.OPEN: _("Not decided yet"),
    }
    return words[progress.decision]


def _reason(
    row: Round,
    sample: Sample,
    progress: SampleProgress,
    classes: Sequence[ClassRow],
    allowed: int,
    may_be: str,
) -> str:
    """The count that decides: of a class that fails, or of all. may_be: how many may be wrong, in words."""
    figures = row.figures if row.ended_at else {}
    judged, right = figures.get("judged", progress.judged), figures.get("right", progress.right)
    failing = [one for one in classes if _fails(one, sample)]
    enough = progress.sample - allowed <= right + progress.sample - judged
    if failing and enough and not sample.is_stratified:
        return _describe_class_failure(failing[0])
    if sample.is_stratified and progress.accuracy.value is not None:
        return _("weighted by class, %(share)s of the labels are right, and at least %(needed)s must be.") % {
            "share": percent(progress.accuracy.value),
            "needed": _needed(sample),
        }
    if not judged:
        return _("nothing is judged yet; %(rule)s") % {"rule": may_be}
    wrong = judged - right
    return ngettext(
        "%(wrong)s of %(judged)s is wrong; %(rule)s", "%(wrong)s of %(judged)s are wrong; %(rule)s", wrong
    ) % {
        "wrong": intcomma(wrong),
        "judged": intcomma(judged),
        "rule": may_be,
    }


def _needed(sample: Sample) -> str:
    return f"{floatformat(sample.overall_percent)} %"


def _may_be(sample: Sample, progress: SampleProgress, names: Mapping[str, str], *, hidden: bool) -> str:
    """How many may be wrong by the overall rule and by those of the classes."""
    allowance = allowance_of(progress, thresholds_of(sample), hides_drawn=hidden)
    counts = {"n": intcomma(allowance.total), "all": intcomma(progress.sample)}
    is_whole = progress.judged == progress.sample
    limited = {names.get(key, key): n for key, n in allowance.classes.items() if n < allowance.total}
    is_bounded_in_secret = hidden and sample.question and sample.class_percent > 0 and allowance.total > 0
    if not limited and not is_bounded_in_secret:
        words = _("at most %(n)s may be.") if is_whole else _("of all %(all)s, at most %(n)s may be.")
        return words % counts
    limits = _describe_limits(sample, limited)
    words = (
        _("at most %(n)s may be, and %(limits)s.")
        if is_whole
        else _("of all %(all)s, at most %(n)s may be, and %(limits)s.")
    )
    return words % {**counts, "limits": limits}


def _describe_limits(sample: Sample, limited: Mapping[str, int]) -> str:
    """limited: how many may be wrong of the classes that allow less than all together."""
    if len(limited) not in NAMED:
        return _("of no class more than %(share)s %%") % {"share": floatformat(100 - sample.class_percent)}
    parts = [
        _("at most %(n)s of the class “%(name)s”") % {"n": intcomma(n), "name": name}
        if n
        else _("none of the class “%(name)s”") % {"name": name}
        for name, n in limited.items()
    ]
    if len(parts) == 1:
        return parts[0]
    return _("%(first)s and %(second)s") % {"first": parts[0], "second": parts[1]}


def _fails(row: ClassRow, sample: Sample) -> bool:
    share = thresholds_of(sample).classes
    return (
        share is not None and row.tally.sample > 0 and not passes(row.tally.at_most, row.tally.sample, share)
    )


def _describe_class_failure(row: ClassRow) -> str:
    if row.allowed is None:  # how many were drawn is still a secret
        return _("too many labels of the class “%(name)s” are wrong.") % {"name": row.name}
    return ngettext(
        "of the class “%(name)s”, %(wrong)s of %(n)s is wrong, and at most %(allowed)s may be.",
        "of the class “%(name)s”, %(wrong)s of %(n)s are wrong, and at most %(allowed)s may be.",
        row.wrong,
    ) % {
        "name": row.name,
        "wrong": intcomma(row.wrong),
        "n": intcomma(row.tally.sample),
        "allowed": intcomma(row.allowed),
    }


def _describe_certainty(sample: Sample, accuracy: Estimate) -> str:
    if accuracy.low is None or accuracy.high is None:
        return ""
    return _("Right in the whole batch, as far as the sample can tell: %(counts)s labels (%(shares)s).") % {
        "counts": count_right(accuracy, sample.population),
        "shares": share_right(accuracy),
    }


def _describe_rule(sample: Sample, size: int, allowed: int) -> str:
    needed = _needed(sample)
    if sample.is_stratified:
        return _("weighted by class, at least %(needed)s right") % {"needed": needed}
    return _("at most %(n)s wrong of %(all)s (at least %(needed)s right)") % {
        "n": intcomma(allowed),
        "all": intcomma(size),
        "needed": needed,
    }
