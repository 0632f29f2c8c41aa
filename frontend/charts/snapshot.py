"""The card of a snapshot in words and tables, in the reader's language."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dialogues.models import Action, Split
from frontend.charts.answer import Answer, Cell
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.shortages import shortages_on_card

Card = Mapping[str, Any]


def table_one(card: Card) -> Answer:
    """Table 1 of the paper, as it was when the snapshot was taken."""
    columns = card["splits"]
    names = {**{split.value: str(split.label) for split in Split}, "total": _("Total")}
    rows: list[list[Cell]] = [
        [_("Dialogues"), *(one["dialogues"] for one in columns)],
        [_("Utterances"), *(one["utterances"] for one in columns)],
        [_("Average utterance length (characters)"), *(_rounded(one["mean_length"]) for one in columns)],
        *(
            [f"{Action(action).label} (%)", *(_share(one[action], one["had_candidates"]) for one in columns)]
            for action in Action.values
        ),
        [_("Utterances that had candidates"), *(one["had_candidates"] for one in columns)],
        [_("Turns to learn from"), *(one["replies"] for one in columns)],
    ]
    note = _(
        "Actions are shares of the utterances that had candidates. A turn can be learned from where a candidate"
        " differs from what was sent."
    )
    return Answer("table-1", _("What is in it?"), note, ["", *(names[one["split"]] for one in columns)], rows)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _share(n: int, of: int) -> float | None:
    return round(100 * n / of, 1) if of else None


def tables(card: Card) -> list[Answer]:
    """What it is of: models, candidates a turn, languages, domains, licences; the most frequent first."""
    numbers = sorted(card["candidates"]["by_number"].items(), key=lambda one: int(one[0]))
    by_number = {
        ngettext("%(n)s candidate", "%(n)s candidates", int(n)) % {"n": n}: turns for n, turns in numbers
    }
    turns, dialogues = _("Turns"), _("Dialogues")
    made = [
        ("models", _("Which models wrote the candidates?"), turns, _by_count(card["model_versions"])),
        ("candidates", _("How many candidates had a turn?"), turns, by_number),
        ("languages", _("Which languages?"), dialogues, _by_count(card["languages"])),
        ("domains", _("Which domains?"), dialogues, _by_count(card["domains"])),
        ("licences", _("Which licences?"), dialogues, _by_count(card["licences"])),
    ]
    return [_counted(name, question, unit, counts) for name, question, unit, counts in made if counts]


def _by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """The largest first again: the database keeps no order of names."""
    return dict(sorted(counts.items(), key=lambda one: -one[1]))


def _counted(name: str, question: str, unit: str, counts: Mapping[str, int]) -> Answer:
    rows: list[Sequence[Cell]] = [[key or _("not stated"), n] for key, n in counts.items()]
    return Answer(name, question, "", ["", unit], rows)


def gaps(card: Card) -> list[str]:
    """What is known to be missing or doubtful."""
    texts = {
        "unreviewed": _("%(n)s dialogues were judged by no expert."),
        "imported": _("%(n)s dialogues were imported; their file says who wrote them and among which candidates."),
        "scripted": _("%(n)s dialogues are marked as scripted: a program wrote and chose in them, no person."),
        "without_candidates": _("%(n)s dialogues have no candidates at all."),
        "no_action": _("In %(n)s turns with candidates the action is unknown."),
        "empty_candidates": _("In %(n)s turns a candidate is empty."),
        "repeated_candidates": _("In %(n)s turns a candidate occurs twice."),
    }  # fmt: skip
    known = [
        text % {"n": f"{card['gaps'][name]:,}"} for name, text in texts.items() if card["gaps"].get(name)
    ]
    return known if any(card["licences"]) else [*known, _("No licence is stated.")]


def warnings(snapshot: Snapshot) -> list[str]:
    return [one.text() for one in shortages_on_card(snapshot.card)]
