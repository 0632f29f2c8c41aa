"""The card of a snapshot in words and tables, in the reader's language."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.labelling.models.labels import LabelOrigin
from common.languages import language_name
from dialogues.models import Action, Split
from frontend.charts.chart import Cell, Chart, round_value
from frontend.ui.questions import QuestionWords
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.shortages import shortages_on_card

Card = Mapping[str, Any]


def tabulate_data(card: Card) -> Chart:
    """Table 1 of the Diamante paper for the dialogues of the snapshot, without actions if these have labels."""
    columns, is_labelled = card["splits"], "labels" in card
    names = {**{split.value: str(split.label) for split in Split}, "total": _("Total")}
    rows: list[list[Cell]] = [
        [_("Dialogues"), *(column["dialogues"] for column in columns)],
        [_("Utterances"), *(column["utterances"] for column in columns)],
        [
            _("Average utterance length (characters)"),
            *(round_value(column["mean_length"], 2) for column in columns),
        ],
    ]
    note = "" if is_labelled else _add_choices(columns, rows)
    head = ["", *(names[column["split"]] for column in columns)]
    return Chart("table-1", _("What is in it?"), note, head, rows, has_units_by_row=True)


def _add_choices(columns: Sequence[Card], rows: list[list[Cell]]) -> str:
    """Add how the utterances came about; returns the note."""
    rows += [
        *(
            [
                f"{Action(action).label} (%)",
                *(_share(column[action], column["had_candidates"]) for column in columns),
            ]
            for action in Action.values
        ),
        [_("Utterances that had candidates"), *(column["had_candidates"] for column in columns)],
        [_("Turns to learn from"), *(column["replies"] for column in columns)],
    ]
    return _(
        "Actions are shares of the utterances that had candidates. A turn can be learned from where a candidate"
        " differs from what was sent."
    )


def _share(n: int, of: int) -> float | None:
    return round(100 * n / of, 1) if of else None


def tabulate_contents(card: Card, questions: Mapping[str, QuestionWords]) -> list[Chart]:
    """Counts of what the snapshot holds, the most frequent first. questions: by key."""
    made = _tabulate_labels(card, questions) if "labels" in card else _tabulate_candidates(card)
    dialogues = _("Dialogues")
    languages = {language_name(code): n for code, n in _by_count(card["languages"]).items()}
    tables = [
        ("languages", _("Which languages?"), dialogues, languages),
        ("domains", _("Which domains?"), dialogues, _by_count(card["domains"])),
        ("licences", _("Which licences?"), dialogues, _by_count(card["licences"])),
    ]
    return [
        _tabulate_counts(name, title, unit, counts)
        for name, title, unit, counts in [*made, *tables]
        if counts
    ]


Table = tuple[str, str, str, Mapping[str, int]]


def _tabulate_labels(card: Card, questions: Mapping[str, QuestionWords]) -> list[Table]:
    """Final labels of each question, and how they came about. A question that is no longer asked keeps its key."""
    origins = {str(LabelOrigin(name).label): n for name, n in _by_count(card["origins"]).items()}
    tables = [
        _tabulate_answers(f"labels-{place}", questions.get(key) or QuestionWords(key, {}), counts)
        for place, (key, counts) in enumerate(sorted(card["labels"].items()))
    ]
    return [*tables, ("origins", _("How did the final labels come about?"), _("Dialogues"), origins)]


def _tabulate_answers(name: str, question: QuestionWords, counts: Mapping[str, int]) -> Table:
    title = _("Which labels does “%(question)s” have?") % {"question": question.title}
    words = {question.options.get(value, value): n for value, n in _by_count(counts).items()}
    return name, title, _("Dialogues"), words


def _tabulate_candidates(card: Card) -> list[Table]:
    """Models, and candidates per turn."""
    numbers = sorted(card["candidates"]["by_number"].items(), key=lambda entry: int(entry[0]))
    by_number = {
        ngettext("%(n)s candidate", "%(n)s candidates", int(n)) % {"n": n}: turns for n, turns in numbers
    }
    turns = _("Turns")
    return [
        ("models", _("Which models wrote the candidates?"), turns, _by_count(card["model_versions"])),
        ("candidates", _("How many candidates did a turn have?"), turns, by_number),
    ]


def _by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """Sort the largest first; JSON columns do not keep the order of keys."""
    return dict(sorted(counts.items(), key=lambda entry: -entry[1]))


def _tabulate_counts(name: str, title: str, unit: str, counts: Mapping[str, int]) -> Chart:
    rows: list[Sequence[Cell]] = [[key or _("not stated"), n] for key, n in counts.items()]
    return Chart(name, title, "", ["", unit], rows)


def list_gaps(card: Card) -> list[str]:
    """Sentences about what is missing or doubtful."""
    texts = {
        "unreviewed": _("%(n)s dialogues were not judged by an expert."),
        "imported": _("%(n)s dialogues were imported; their file says who wrote them and among which candidates."),
        "scripted": _("%(n)s dialogues are marked as scripted: a program wrote and chose in them, no person."),
        "without_candidates": _("%(n)s dialogues have no candidates at all."),
        "no_action": _("In %(n)s turns with candidates the action is unknown."),
        "empty_candidates": _("In %(n)s turns a candidate is empty."),
        "repeated_candidates": _("In %(n)s turns a candidate occurs twice."),
        "machine_labels": _("%(n)s dialogues have a machine's label that passed batch review, and no person's."),
        "imported_labels": _("The labels of %(n)s dialogues were imported; their file says who judged them."),
        "one_judgement": _("%(n)s dialogues were judged by one person only."),
    }  # fmt: skip
    gaps = [text % {"n": f"{card['gaps'][name]:,}"} for name, text in texts.items() if card["gaps"].get(name)]
    return gaps if any(card["licences"]) else [*gaps, _("No licence is stated.")]


def list_warnings(snapshot: Snapshot) -> list[str]:
    return [shortage.text() for shortage in shortages_on_card(snapshot.card)]
