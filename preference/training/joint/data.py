"""Dialogues as the joint model learns from them: what a person wrote, and the candidates shown at the time.

Read from a snapshot folder (its `dialogues.jsonl`) or a JSONL file in shape `diamante` or `quadruples`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance that people chose or wrote among candidates.

    position: of the utterance in its dialogue, 0 = opening; candidates: as displayed, without empty ones, repeats and
    what equals `human`; action: select, revise or rewrite, "" where unknown.
    """

    position: int
    human: str
    candidates: tuple[str, ...]
    action: str
    model_version: str


@dataclass(frozen=True, slots=True)
class TrainingDialogue:
    """utterances: all of them, oldest first; turns: those that something can be ranked at, by position."""

    id: str
    split: str
    domain: str
    language: str
    utterances: tuple[str, ...]
    turns: tuple[Turn, ...]


def read_dialogues(path: str | Path) -> list[TrainingDialogue]:
    """Raises TrainingError for a missing, empty or broken file (naming the line) and where no turn has a candidate."""
    file = Path(path) / "dialogues.jsonl" if Path(path).is_dir() else Path(path)
    rows = list(_rows(file))
    if not rows:
        raise TrainingError(
            _("%(file)s has no dialogues.") % {"file": file},
            _("Export a snapshot of dialogues with accepted work."),
        )
    shaped = "human" in rows[0][1]
    dialogues = _from_quadruples(rows) if shaped else [_from_conversation(*row) for row in rows]
    if not any(dialogue.turns for dialogue in dialogues):
        raise TrainingError(
            _(
                "No utterance in %(file)s has a context and a candidate that differs from what the person wrote, "
                "so there is nothing to rank."
            )
            % {"file": file},
            _("Use dialogues that were written with candidates shown; a plain import has none."),
        )
    return dialogues


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every row with its place, for messages."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    place = _("line %(number)s of %(file)s") % {"number": number, "file": file}
                    yield place, _object(line, place)
    except OSError as error:
        raise TrainingError(
            _("%(file)s cannot be read: %(reason)s.") % {"file": file, "reason": error.strerror},
            _("Name a snapshot folder (it holds dialogues.jsonl) or a JSONL file."),
        ) from error
    except UnicodeDecodeError as error:
        raise TrainingError(
            _("%(file)s is not UTF-8 text: %(reason)s.") % {"file": file, "reason": error.reason},
            _("Save it as UTF-8."),
        ) from error


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        said = _("In %(place)s: no valid JSON (%(reason)s).") % {"place": place, "reason": error}
        raise TrainingError(said, _("Correct or remove the line.")) from error
    if not isinstance(row, dict) or not ("conversation" in row or {"context", "human"} <= row.keys()):
        raise TrainingError(
            _("In %(place)s: neither a `conversation` nor a `context` with a `human` reply.")
            % {"place": place},
            _("Export in shape `diamante` or `quadruples`."),
        )
    return row


def _wrong(said: str, place: str, key: str) -> TrainingError:
    return TrainingError(said % {"place": place, "key": key}, _("Correct or remove the line."))


def _text(row: dict[str, Any], key: str, place: str, *, needed: bool = False) -> str:
    value = row.get(key)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise _wrong(_("In %(place)s: `%(key)s` must be text."), place, key)
    return value.strip()


def _texts(row: dict[str, Any], key: str, place: str) -> list[str]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise _wrong(_("In %(place)s: `%(key)s` must be a list of texts."), place, key)
    return [text.strip() for text in value]


def _name(row: dict[str, Any], key: str) -> str:
    """Ids may be numbers in files of other people."""
    value = row.get(key)
    return str(value) if isinstance(value, str | int) else ""


def _from_conversation(place: str, row: dict[str, Any]) -> TrainingDialogue:
    conversation = row.get("conversation")
    if not isinstance(conversation, list) or not all(isinstance(item, dict) for item in conversation):
        raise _wrong(_("In %(place)s: `%(key)s` must be a list of objects."), place, "conversation")
    utterances = tuple(_text(item, "utterance", place, needed=True) for item in conversation)
    turns = (
        _turn(utterances[:position], human, _texts(item, "response_candidates", place), item, place)
        for position, (human, item) in enumerate(zip(utterances, conversation, strict=True))
    )
    return TrainingDialogue(
        _name(row, "dialogue_id") or _name(row, "id") or place,
        _text(row, "split", place),
        _text(row, "domain", place),
        _text(row, "language", place),
        utterances,
        tuple(turn for turn in turns if turn is not None),
    )


def _turn(
    context: Sequence[str], human: str, candidates: Sequence[str], about: dict[str, Any], place: str
) -> Turn | None:
    """None without a context, without a reply, and where no candidate is left to rank below it."""
    other = _usable(human, candidates)
    if not (any(context) and human and other):
        return None
    action, version = _text(about, "action", place), _text(about, "model_version", place)
    return Turn(len(context), human, other, action, version)


def _usable(human: str, candidates: Sequence[str]) -> tuple[str, ...]:
    """Candidates that are neither empty nor alike but for white space, in displayed order."""
    seen = {"", _squeezed(human)}
    kept = []
    for text in candidates:
        key = _squeezed(text)
        if key not in seen:
            seen.add(key)
            kept.append(text)
    return tuple(kept)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


@dataclass(slots=True)
class _Gathered:
    """Rows of shape `quadruples` that belong to one dialogue."""

    about: dict[str, Any]
    utterances: tuple[str, ...] = ()
    candidates: dict[int, list[str]] = field(default_factory=dict)
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)


def _from_quadruples(rows: Sequence[tuple[str, dict[str, Any]]]) -> list[TrainingDialogue]:
    """Rows with one dialogue id are put together; `random` is left out, as it is drawn anew in every epoch."""
    gathered: dict[tuple[str, int], _Gathered] = {}
    for place, row in rows:
        said = (*_texts(row, "context", place), _text(row, "human", place, needed=True))
        name = _name(row, "dialogue_id") or place
        found = _belongs(gathered, name, said, row)
        position = len(said) - 1
        found.utterances = max(found.utterances, said, key=len)
        found.candidates.setdefault(position, []).append(_text(row, "model", place))
        found.rows.setdefault(position, row)
    return [_put_together(name, found) for (name, _), found in gathered.items()]


def _belongs(
    gathered: dict[tuple[str, int], _Gathered], name: str, said: tuple[str, ...], row: dict[str, Any]
) -> _Gathered:
    """The dialogue of that name whose words agree; two texts under one id become two dialogues."""
    version = 0
    while (found := gathered.setdefault((name, version), _Gathered(row))).utterances:
        shorter = min(len(found.utterances), len(said))
        if found.utterances[:shorter] == said[:shorter]:
            break
        version += 1
    return found


def _put_together(name: str, found: _Gathered) -> TrainingDialogue:
    words, place = found.utterances, _("dialogue %(name)s") % {"name": name}
    turns = (
        _turn(words[:position], words[position], candidates, found.rows[position], place)
        for position, candidates in sorted(found.candidates.items())
    )
    about: Callable[[str], str] = lambda key: _text(found.about, key, place)  # noqa: E731
    kept = tuple(turn for turn in turns if turn is not None)
    return TrainingDialogue(name, about("split"), about("domain"), about("language"), words, kept)
