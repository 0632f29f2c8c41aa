"""Roles that nobody has in a project although work waits for them, in words."""

from collections.abc import Callable
from typing import Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.overview.selectors import Overview, Step, steps_without_people


def describe_missing_roles(seen: Overview) -> list[str]:
    """A sentence for each role that work waits for and nobody has."""
    annotators = [] if seen.annotators else [_("Nobody has the role “Annotator”.")]
    return [*annotators, *(SENTENCES[step](seen) for step in steps_without_people(seen))]


def no_trainer_yet() -> str:
    """What to know before people disagree."""
    return _(
        "Nobody has the role “Trainer”, so dialogues on which annotators still disagree would never be decided."
    )


def describe_missing_trainer(disputed: int) -> str:
    return ngettext(
        "%(n)s dialogue waits for a trainer, and nobody has that role.",
        "%(n)s dialogues wait for a trainer, and nobody has that role.",
        disputed,
    ) % {"n": intcomma(disputed)}


def _controller(seen: Overview) -> str:
    return ngettext(
        "%(n)s batch waits for a quality controller, and nobody has that role.",
        "%(n)s batches wait for a quality controller, and nobody has that role.",
        seen.in_review,
    ) % {"n": intcomma(seen.in_review)}


def _expert(seen: Overview) -> str:
    return ngettext(
        "%(n)s finished dialogue waits for an expert, and nobody has the role “Quality controller” or “Trainer”.",
        "%(n)s finished dialogues wait for an expert, and nobody has the role “Quality controller” or “Trainer”.",
        seen.unreviewed,
    ) % {"n": intcomma(seen.unreviewed)}


SENTENCES: Final[dict[Step, Callable[[Overview], str]]] = {
    Step.DECIDE: lambda seen: describe_missing_trainer(seen.disputed),
    Step.JUDGE: _controller,
    Step.REVIEW: _expert,
}
