"""What a sample says about its batch, as a person would say it: counts first, then percentages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.batch_plan import deciding_percents
from annotation.batch_review.selectors.sample_progress import (
    SampleProgress,
    allowance_of,
    class_estimate,
    smallest_class_with_spare,
    thresholds_of,
    wrong_allowed,
)
from annotation.tasks.models.rounds import Round, RoundState
from common.sentences import join_sentences
from frontend.templatetags.ui import percent
from frontend.ui.units import keep_units
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
    """headline: the verdict and why. certainty: how much of the batch is right.

    explanation: how a sample decides, and by which rules. allowed: how many of all may be wrong.
    """

    headline: str
    certainty: str
    explanation: str
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
    limits = _describe_limits(sample, progress, names, allowed, hidden=hidden)
    return VerdictWords(
        f"{_verdict_word(row, progress)}{_(': ')}{_reason(row, sample, progress, classes, allowed, limits)}",
        _describe_certainty(row, sample, progress),
        join_sentences([_describe_rule(sample, progress.sample, allowed), _describe_class_rule(sample)]),
        allowed,
    )


def describe_class(
    name: str, tally: ClassTally, sample: Sample, progress: SampleProgress, *, hidden: bool
) -> ClassRow:
    """hidden: how many of the class there are, and were drawn, is a secret."""
    share = thresholds_of(sample).classes
    estimate = class_estimate(tally, progress.tallies, hides_drawn=hidden)
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
    limits: str,
) -> str:
    """The count that decides: of a class that fails, or of all. limits: how many may be wrong, in words."""
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
        return _("nothing is judged yet; %(rule)s") % {"rule": limits}
    wrong = judged - right
    return ngettext(
        "%(wrong)s of %(judged)s is wrong; %(rule)s", "%(wrong)s of %(judged)s are wrong; %(rule)s", wrong
    ) % {
        "wrong": intcomma(wrong),
        "judged": intcomma(judged),
        "rule": limits,
    }


def _needed(sample: Sample) -> str:
    return keep_units(f"{floatformat(deciding_percents(sample).overall)} %")


def _describe_limits(
    sample: Sample, progress: SampleProgress, names: Mapping[str, str], allowed: int, *, hidden: bool
) -> str:
    """How many may be wrong by the overall rule, and by that of the classes where it is the tighter one."""
    counts = {"n": intcomma(allowed), "all": intcomma(progress.sample)}
    is_whole = progress.judged == progress.sample
    if not allowed:
        return _("none may be.") if is_whole else _("of all %(all)s, none may be.") % counts
    tighter = _describe_class_limits(sample, progress, names, allowed, hidden=hidden)
    if not tighter:
        words = _("at most %(n)s may be.") if is_whole else _("of all %(all)s, at most %(n)s may be.")
        return words % counts
    words = (
        _("overall at most %(n)s may be, %(limits)s.")
        if is_whole
        else _("of all %(all)s, at most %(n)s may be, %(limits)s.")
    )
    return words % {**counts, "limits": tighter}


def _describe_class_limits(
    sample: Sample, progress: SampleProgress, names: Mapping[str, str], allowed: int, *, hidden: bool
) -> str:
    """The classes that allow fewer wrong labels than all together; "" if none does."""
    thresholds = thresholds_of(sample)
    if thresholds.classes is None:
        return ""
    smallest = smallest_class_with_spare(thresholds.classes)
    classes = allowance_of(progress, thresholds, hides_drawn=hidden).classes
    limited = {names.get(key, key): n for key, n in classes.items() if n < allowed}
    if not hidden and not limited:
        return ""
    if smallest is None:
        return _("but none in any class")
    # Which classes were drawn may be a secret, but none of them is larger than the sample.
    if progress.sample < smallest or (limited and not any(classes.values())):
        return _("but every class has fewer than %(few)s in the sample, and in such a class none may be") % {
            "few": intcomma(smallest)
        }
    if len(limited) in NAMED:
        return _("and %(limits)s") % {"limits": _name_limits(limited)}
    if limited and not any(limited.values()):
        return _("and none in a class with fewer than %(few)s in the sample") % {"few": intcomma(smallest)}
    share = {"share": floatformat(100 - sample.class_percent)}
    return keep_units(_("and of no class more than %(share)s %%") % share)


def _name_limits(limited: Mapping[str, int]) -> str:
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
    words = (
        ngettext(
            "of the class “%(name)s”, %(wrong)s of %(n)s is wrong, and at most %(allowed)s may be.",
            "of the class “%(name)s”, %(wrong)s of %(n)s are wrong, and at most %(allowed)s may be.",
            row.wrong,
        )
        if row.allowed
        else ngettext(
            "of the class “%(name)s”, %(wrong)s of %(n)s is wrong, and none may be.",
            "of the class “%(name)s”, %(wrong)s of %(n)s are wrong, and none may be.",
            row.wrong,
        )
    )
    return words % {
        "name": row.name,
        "wrong": intcomma(row.wrong),
        "n": intcomma(row.tally.sample),
        "allowed": intcomma(row.allowed),
    }


def _describe_certainty(row: Round, sample: Sample, progress: SampleProgress) -> str:
    """The interval of the batch and, if it is accepted, how many wrong labels come with it at most."""
    accuracy = progress.accuracy
    if accuracy.low is None or accuracy.high is None:
        return ""
    estimate = _(
        "Estimate from the sample for the whole batch: %(counts)s labels are right (95 %% interval %(shares)s)."
    ) % {"counts": count_right(accuracy, sample.population), "shares": share_right(accuracy)}
    accepts = row.state == RoundState.ACCEPTED or (
        row.state == RoundState.IN_REVIEW and progress.decision is BatchVerdict.ACCEPT
    )
    most = sample.population - round(accuracy.low * sample.population)
    words = _("With 95 %% confidence, at most %(n)s of the %(all)s labels are wrong.") % {
        "n": intcomma(most),
        "all": intcomma(sample.population),
    }
    is_certain = accuracy.low == accuracy.high
    return keep_units(join_sentences([estimate, words if accepts and not is_certain else ""]))


def _describe_class_rule(sample: Sample) -> str:
    share = thresholds_of(sample).classes
    if share is None:
        return ""
    needed = {"needed": keep_units(f"{floatformat(sample.class_percent)} %")}
    smallest = smallest_class_with_spare(share)
    if smallest is None:
        return _("In addition, all labels of every class must be right.")
    return _(
        "In addition, at least %(needed)s of every class must be right: in a class with fewer than %(few)s in the"
        " sample, no label may be wrong. The batch has to meet all of these rules, so the tightest one decides."
    ) % {**needed, "few": intcomma(smallest)}


def _describe_rule(sample: Sample, size: int, allowed: int) -> str:
    needed = _needed(sample)
    if sample.is_stratified:
        rule = _("weighted by class, at least %(needed)s right") % {"needed": needed}
    else:
        rule = _("at most %(n)s wrong of %(all)s (at least %(needed)s right)") % {
            "n": intcomma(allowed),
            "all": intcomma(size),
            "needed": needed,
        }
    return _(
        "Nobody checks every label of a batch. A sample is drawn at random, a controller judges each dialogue in it,"
        " and a rule that was fixed beforehand decides about the whole batch: %(rule)s."
    ) % {"rule": rule}
