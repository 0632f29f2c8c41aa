"""What the report of a collection says, in sentences: who is better in what, how sure that is, and what is missing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy, ngettext, pgettext
from django.utils.translation import gettext as _

from annotation.labelling.schema.questions import BilingualText
from assessment.collections.models import CollectionKind
from assessment.collections.selectors.report import HUMAN, CollectionReport, Criterion
from common.sentences import join_sentences
from measures.estimate import Estimate
from measures.paired_systems import SystemComparison

# Landis and Koch (1977): the agreement below each value.
AGREEMENT: Final[tuple[tuple[float, str | Promise], ...]] = (
    (0.0, gettext_lazy("lower than by chance")),
    (0.2, gettext_lazy("slight")),
    (0.4, gettext_lazy("fair")),
    (0.6, gettext_lazy("moderate")),
    (0.8, gettext_lazy("substantial")),
    (float("inf"), gettext_lazy("almost perfect")),
)
WEAK: Final = 0.2  # κ below which a difference between systems may be one between raters


@dataclass(frozen=True, slots=True)
class CriterionVerdict:
    """The leading system of a criterion (the human reply does not lead) against all others, by significance.

    ahead, behind: significant comparisons in which it is the better or the worse one. unclear: the rest.
    """

    criterion: str
    text: BilingualText
    leader: str
    ahead: tuple[SystemComparison, ...]
    behind: tuple[SystemComparison, ...]
    unclear: tuple[SystemComparison, ...]


def criterion_verdict(criterion: Criterion, report: CollectionReport) -> CriterionVerdict | None:
    """None if fewer than two systems have scores."""
    scores = {row.system: row.scores[criterion.name].value for row in report.systems}
    known = {name: score for name, score in scores.items() if score is not None}
    leader = max((name for name in known if name != HUMAN), key=known.__getitem__, default=None)
    if leader is None or len(known) < 2:
        return None
    own = [each for each in criterion.comparisons if leader in (each.better, each.worse) and each.n]
    return CriterionVerdict(
        criterion=criterion.name,
        text=criterion.text,
        leader=leader,
        ahead=tuple(each for each in own if each.is_significant() and each.better == leader),
        behind=tuple(each for each in own if each.is_significant() and each.worse == leader),
        unclear=tuple(each for each in own if not each.is_significant()),
    )


def verdict_sentences(report: CollectionReport) -> list[str]:
    """The verdict in the active language, the most important sentence first."""
    return [*_unfinished(report), *_verdicts(report), *_agreement(report), *_missing(report)]


def _unfinished(report: CollectionReport) -> Iterator[str]:
    if not report.planned:
        yield _("Raters have no dialogues yet.")
    elif not report.rated:
        yield _("Nobody has finished rating a dialogue yet.")
    elif report.rated < report.planned:
        yield _(
            "%(rated)s of %(planned)s dialogues are rated by everybody; the numbers can still change."
        ) % {
            "rated": intcomma(report.rated),
            "planned": intcomma(report.planned),
        }


def _verdicts(report: CollectionReport) -> Iterator[str]:
    for criterion in report.criteria:
        verdict = criterion_verdict(criterion, report)
        if verdict is not None:
            yield from _criterion_sentences(verdict, report.kind)


def _criterion_sentences(verdict: CriterionVerdict, kind: CollectionKind) -> Iterator[str]:
    leader = display_name(verdict.leader)
    named = {"criterion": criterion_name(verdict.text), "leader": leader}
    if verdict.ahead:
        others = _joined(_with_numbers(each.worse, each, kind) for each in verdict.ahead)
        yield _("%(criterion)s: %(leader)s is better than %(others)s.") % {**named, "others": others}
    if verdict.behind:
        others = _joined(_with_numbers(each.better, each, kind) for each in verdict.behind)
        yield _("%(criterion)s: even the best system, %(leader)s, is worse than %(others)s.") % {
            **named,
            "others": others,
        }
    for each in verdict.unclear:
        yield _unclear_sentence(each, named["criterion"], kind)


def _unclear_sentence(comparison: SystemComparison, criterion: str, kind: CollectionKind) -> str:
    values = {
        "criterion": criterion,
        "one": display_name(comparison.better),
        "other": display_name(comparison.worse),
        "numbers": _numbers(comparison, kind),
    }
    said = _("%(criterion)s: %(one)s and %(other)s do not differ significantly (%(numbers)s).") % values
    if comparison.needed is None or comparison.needed <= comparison.n:
        return said
    return join_sentences([said, _needed_sentence(comparison.needed, kind)])


def _needed_sentence(needed: int, kind: CollectionKind) -> str:
    if kind == CollectionKind.HUMAN_BOT:
        return _("About %(needed)s conversations per system would show a difference of this size.") % {
            "needed": intcomma(needed)
        }
    return _("About %(needed)s contexts would show a difference of this size.") % {"needed": intcomma(needed)}


def _agreement(report: CollectionReport) -> Iterator[str]:
    kappa = report.overall_agreement
    if kappa.value is None:
        return
    yield _("Agreement is %(level)s (Fleiss' κ = %(kappa)s, %(n)s items).") % {
        "level": agreement_level(kappa),
        "kappa": f"{kappa.value:.3f}",
        "n": intcomma(kappa.n),
    }
    for criterion in report.criteria:
        if criterion.agreement.value is not None and criterion.agreement.value < WEAK:
            yield _("On %(criterion)s it is %(level)s (κ = %(kappa)s): see what raters disagree about.") % {
                "criterion": criterion_name(criterion.text),
                "level": agreement_level(criterion.agreement),
                "kappa": f"{criterion.agreement.value:.3f}",
            }


def _missing(report: CollectionReport) -> Iterator[str]:
    for row in report.systems:
        if row.missing:
            yield ngettext(
                "%(system)s failed in %(count)s dialogue, which is missing.",
                "%(system)s failed in %(count)s dialogues, which are missing.",
                row.missing,
            ) % {"system": display_name(row.system), "count": intcomma(row.missing)}


def agreement_level(kappa: Estimate) -> str:
    """How much raters agree, as an adjective; "" without a value."""
    if kappa.value is None:
        return ""
    return next(str(name) for limit, name in AGREEMENT if kappa.value < limit)


def criterion_name(text: BilingualText) -> str:
    """In the active language."""
    return text.zh if (get_language() or "").startswith("zh") else text.en


def display_name(system: str) -> str:
    """How a system is named in a sentence."""
    return _("“%(name)s”") % {"name": system} if system != HUMAN else _("the human reply")


def _with_numbers(system: str, comparison: SystemComparison, kind: CollectionKind) -> str:
    return _("%(system)s (%(numbers)s)") % {
        "system": display_name(system),
        "numbers": _numbers(comparison, kind),
    }


def _numbers(comparison: SystemComparison, kind: CollectionKind) -> str:
    """Both means, the contexts that they rest on, and p. The table has the means over all contexts of a system."""
    high, low = comparison.means
    means = _("%(high)s against %(low)s") % {"high": f"{high:.2f}", "low": f"{low:.2f}"}
    if kind != CollectionKind.HUMAN_BOT:
        means = ngettext(
            "%(means)s in the %(n)s context that both answered",
            "%(means)s in the %(n)s contexts that both answered",
            comparison.n,
        ) % {"means": means, "n": intcomma(comparison.n)}
    if comparison.p is None:
        return means
    return _("%(means)s, %(p)s") % {"means": means, "p": format_p(comparison.p)}


def format_p(p: float) -> str:
    """For example "p = 0.03"."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _joined(names: Iterator[str] | Sequence[str]) -> str:
    return pgettext("list", ", ").join(names)
