"""What a data set lacks for training: warnings before a snapshot is taken, and on its card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from dialogues.models import Action, Split, Utterance
from preference.data.selectors.selection import Selection
from projects.models import Protocol

FEW_LABELS = 100  # dialogues of the split train
FEW_TURNS = 168  # one optimiser step of the paper's recipe


@dataclass(frozen=True, slots=True)
class Shortage:
    """code: no_candidates, one_action, empty_split, few_turns or few_labels. about: the action or split.

    n: number of turns, or of labelled dialogues.
    """

    code: str
    about: str = ""
    n: int = 0

    def text(self) -> str:
        return _TEXTS[self.code](self)


_TEXTS = {
    "no_candidates": lambda one: _("No utterance was chosen among candidates, so there is nothing to rank."),
    "one_action": lambda one: (
        _("All turns have the same action: %(action)s.") % {"action": Action(one.about).label}
    ),
    "empty_split": lambda one: _("The split “%(split)s” is empty.") % {"split": Split(one.about).label},
    "few_turns": lambda one: (
        _("Only %(n)s turns have candidates; one step of the usual recipe takes %(wanted)s.")
        % {"n": intcomma(one.n), "wanted": intcomma(FEW_TURNS)}
    ),
    "few_labels": lambda one: (
        _(
            "Only %(n)s labelled dialogues are in the split “%(split)s”; a useful assessor needs about %(wanted)s."
        )
        % {"n": intcomma(one.n), "split": Split.TRAIN.label, "wanted": intcomma(FEW_LABELS)}
    ),
}


def shortages(
    dialogues: Mapping[str, int], splits: Sequence[str], turns: int, actions: Mapping[str, int]
) -> list[Shortage]:
    """dialogues: count by split. turns: with candidates. actions: of these turns, count by action."""
    lacking = [Shortage("empty_split", split) for split in splits if not dialogues.get(split)]
    if not turns:
        return [Shortage("no_candidates"), *lacking]
    if turns < FEW_TURNS:
        lacking.append(Shortage("few_turns", n=turns))
    actions_used = [action for action, n in actions.items() if n]
    return [*lacking, *([Shortage("one_action", actions_used[0])] if len(actions_used) == 1 else [])]


def labelling_shortages(dialogues: Mapping[str, int], splits: Sequence[str]) -> list[Shortage]:
    """What a snapshot of labelled dialogues lacks. dialogues: count by split."""
    lacking = [Shortage("empty_split", split) for split in splits if not dialogues.get(split)]
    learned = dialogues.get(Split.TRAIN, 0)
    return [*lacking, *([Shortage("few_labels", n=learned)] if 0 < learned < FEW_LABELS else [])]


def expected_shortages(selection: Selection) -> list[Shortage]:
    """What a snapshot of the selection would lack; two queries, or one in a labelling project."""
    counted = selection.dialogues().order_by().values_list("split").annotate(n=Count("id"))
    if selection.project.protocol == Protocol.LABELLING:
        return labelling_shortages(dict(counted), selection.filters.splits)
    had = Utterance.objects.filter(
        Q(dialogue__in=selection.dialogues().order_by()), candidate_set__isnull=False, position__gt=0
    )
    actions: dict[str, int] = dict(had.order_by().values_list("action").annotate(n=Count("id")))
    turns = sum(actions.values())
    actions.pop("", None)
    return shortages(dict(counted), selection.filters.splits, turns, actions)


def shortages_on_card(card: Mapping[str, Any]) -> list[Shortage]:
    """As stored in the card of a snapshot."""
    return [Shortage(**shortage) for shortage in card.get("shortages", [])]
