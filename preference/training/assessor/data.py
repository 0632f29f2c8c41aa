"""Labelled dialogues, from a JSONL file.

    {"id": "d7", "dialogue": [{"role": "question", "content": "…"}, {"role": "response", "content": "…"}], "label": 2}

Optional: domain, and split (train, valid or test). Other keys, such as the judgements of the export format `diqad`, are
ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from preference.training.assessor.task import Label, PredictionTask
from preference.training.common.errors import TrainingError
from preference.training.common.json_lines import Row, name_field, read_rows, text_field, wrong_field
from preference.training.common.messages import gettext as _
from preference.training.common.output import data_file

SPLITS = ("train", "valid", "test")
OTHER_NAMES = {"validation": "valid", "dev": "valid"}


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. role: of its speaker, as the data names it."""

    role: str
    content: str


Turns = Sequence[Turn]


@dataclass(frozen=True, slots=True)
class LabelledDialogue:
    """turns: at least one, none of them empty. domain: "" if unknown. split: one of SPLITS, "" until one is drawn."""

    id: str
    turns: tuple[Turn, ...]
    label: Label
    domain: str = ""
    split: str = ""


def turns_of(dialogues: Iterable[LabelledDialogue]) -> list[Turns]:
    """What a classifier sees of each dialogue."""
    return [dialogue.turns for dialogue in dialogues]


def read_dialogues(data: Path, task: PredictionTask) -> list[LabelledDialogue]:
    """The labelled dialogues of a file or a snapshot folder.

    Raises TrainingError with the line for what is wrong, for an id used twice, and for a file without rows.
    """
    return [
        LabelledDialogue(
            id=name,
            turns=_parse_turns(row, place),
            label=_parse_label(row, place, task),
            domain=text_field(row, "domain", place),
            split=_parse_split(row, place),
        )
        for name, place, row in _named_rows(data)
    ]


def read_unlabelled(data: Path) -> dict[str, Turns]:
    """Dialogues by id, in the order of the file. Raises TrainingError as read_dialogues does."""
    return {name: _parse_turns(row, place) for name, place, row in _named_rows(data)}


def _named_rows(data: Path) -> Iterator[tuple[str, str, Row]]:
    """(id, place in words, row) of every line."""
    seen: set[str] = set()
    for place, row in read_rows(data_file(data)):
        if not isinstance(row, dict):
            raise TrainingError(
                _("In %(place)s: a row must be a JSON object.") % {"place": place},
                _("Correct or remove the line."),
            )
        name = name_field(row, "id")
        if not name:
            raise wrong_field(_("In %(place)s: `%(key)s` must be text or a number."), place, "id")
        if name in seen:
            raise TrainingError(
                _("In %(place)s: the id %(id)s is used twice.") % {"place": place, "id": name},
                _("Give every row an id of its own."),
            )
        seen.add(name)
        yield name, place, row
    if not seen:
        raise TrainingError(
            _("%(file)s holds no row.") % {"file": data}, _("Name a JSONL file with dialogues.")
        )


def _parse_turns(row: Row, place: str) -> tuple[Turn, ...]:
    """The utterances that hold text. Raises TrainingError if none does."""
    entries = row.get("dialogue")
    if not isinstance(entries, list) or not all(map(_is_turn, entries)):
        raise wrong_field(
            _("In %(place)s: `%(key)s` must be a list of objects with the texts `role` and `content`."),
            place,
            "dialogue",
        )
    turns = [Turn(entry["role"].strip(), entry["content"].strip()) for entry in entries]
    filled = tuple(turn for turn in turns if turn.content)
    if not filled:
        raise wrong_field(_("In %(place)s: `%(key)s` holds no text."), place, "dialogue")
    return filled


def _is_turn(entry: object) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("role", "content"))


def _parse_label(row: Row, place: str, task: PredictionTask) -> Label:
    label = task.parse(row.get(task.column))
    if label is not None:
        return label
    if row.get(task.column, "") is None:
        raise TrainingError(
            _("In %(place)s: `%(key)s` is null, so the dialogue has no label yet.")
            % {"place": place, "key": task.column},
            _("Export without --include-unreviewed, or remove the rows without a label."),
        )
    shown = [str(name) for name in task.classes[:6]] + (["…"] if len(task.classes) > 6 else [])
    raise TrainingError(
        _("In %(place)s: `%(key)s` is %(value)r, and must be one of %(classes)s.")
        % {
            "place": place,
            "key": task.column,
            "value": row.get(task.column),
            "classes": ", ".join(shown),
        },
        _("Correct the line, or remove it if the dialogue has no label."),
    )


def _parse_split(row: Row, place: str) -> str:
    text = text_field(row, "split", place)
    split = OTHER_NAMES.get(text, text)
    if split and split not in SPLITS:
        raise wrong_field(_("In %(place)s: `%(key)s` must be train, valid or test."), place, "split")
    return split
