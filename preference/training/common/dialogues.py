"""Dialogues to learn from: what a person wrote, and the candidates displayed at the time.

Read from a snapshot folder (its `dialogues.jsonl`), or from a JSONL file in the format `diamante` or `quadruples`.

`diamante`, one dialogue a line (optional: id, split, domain, language, the `speaker` of an utterance, and `action`,
`source` and `model_version` of a turn):

    {"conversation": [{"utterance": "I have a cat."},
                      {"utterance": "What is her name?", "response_candidates": ["Nice!", "I like dogs.", …]}, …]}

`quadruples`, one turn a line (optional: dialogue_id, `random`, and the fields above):

    {"context": ["I have a cat."], "human": "What is her name?", "model": "Nice!", "random": "It rained."}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.json_lines import (
    Row,
    name_field,
    read_rows,
    text_field,
    text_list_field,
    wrong_field,
)
from preference.training.common.languages import guess_language
from preference.training.common.messages import gettext as _
from preference.training.common.output import data_file


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance that a person chose or wrote among candidates.

    position: of the utterance in its dialogue, 0 is the opening. candidates: as displayed, without empty ones,
    repeats, and any that equal `human`. action: select, revise or rewrite, "" if unknown. before_revision: the one of
    the candidates that the person revised, "" if unknown or not revised. copies: how many displayed candidates equal
    `human`.
    """

    position: int
    human: str
    candidates: tuple[str, ...]
    action: str
    model_version: str
    before_revision: str = ""
    copies: int = 0


@dataclass(frozen=True, slots=True)
class TrainingDialogue:
    """utterances: all of them, oldest first. turns: those with a candidate to rank, by position.

    speakers: of the utterances; empty if the file does not name all of them.
    """

    id: str
    split: str
    domain: str
    language: str
    utterances: tuple[str, ...]
    turns: tuple[Turn, ...]
    speakers: tuple[str, ...] = ()

    @property
    def spoken_language(self) -> str:
        """`language`; if it is not given, a guess from the characters."""
        return self.language or guess_language(self.utterances)


def read_dialogues(path: str | Path, *, with_candidates: bool = True) -> list[TrainingDialogue]:
    """All dialogues of a snapshot folder or a JSONL file, in the order of the file.

    with_candidates: whether a file in which no turn has a candidate is refused. Raises TrainingError for that, and for
    a missing, empty or broken file (naming the line).
    """
    file = data_file(Path(path))
    rows = [(place, _check_row(row, place)) for place, row in read_rows(file)]
    if not rows:
        raise TrainingError(
            _("%(file)s has no dialogues.") % {"file": file},
            _("Export a snapshot of dialogues with accepted work."),
        )
    is_quadruples = "human" in rows[0][1]
    dialogues = _from_quadruples(rows) if is_quadruples else [_from_conversation(*row) for row in rows]
    if with_candidates and not any(dialogue.turns for dialogue in dialogues):
        raise TrainingError(
            _(
                "No utterance in %(file)s has a context and a candidate that differs from what the person wrote, "
                "so there is nothing to rank."
            )
            % {"file": file},
            _("Use dialogues that were written with candidates shown; a plain import has none."),
        )
    return dialogues


def _check_row(row: Any, place: str) -> Row:
    """The row itself. Raises TrainingError if it is of neither format."""
    if not isinstance(row, dict) or not ("conversation" in row or {"context", "human"} <= row.keys()):
        raise TrainingError(
            _("In %(place)s: neither a `conversation` nor a `context` with a `human` reply.")
            % {"place": place},
            _("Export in the format `diamante` or `quadruples`."),
        )
    return row


def _from_conversation(place: str, row: Row) -> TrainingDialogue:
    """A row of the format diamante: one dialogue."""
    conversation = row.get("conversation")
    if not isinstance(conversation, list) or not all(isinstance(item, dict) for item in conversation):
        raise wrong_field(_("In %(place)s: `%(key)s` must be a list of objects."), place, "conversation")
    utterances = tuple(text_field(item, "utterance", place, required=True) for item in conversation)
    speakers = tuple(text_field(item, "speaker", place) for item in conversation)
    turns = (
        _turn(utterances[:position], human, text_list_field(item, "response_candidates", place), item, place)
        for position, (human, item) in enumerate(zip(utterances, conversation, strict=True))
    )
    return TrainingDialogue(
        name_field(row, "dialogue_id") or name_field(row, "id") or place,
        text_field(row, "split", place),
        text_field(row, "domain", place),
        text_field(row, "language", place),
        utterances,
        tuple(turn for turn in turns if turn is not None),
        speakers if all(speakers) else (),
    )


def _turn(
    context: Sequence[str], human: str, candidates: Sequence[str], about: Row, place: str
) -> Turn | None:
    """The turn, or None if there is no context, no reply, or no candidate left to rank below the reply.

    An opening is never a turn: both losses are about a reply given its context.
    """
    usable = _usable(human, candidates)
    if not (any(context) and human and usable):
        return None
    action, version = text_field(about, "action", place), text_field(about, "model_version", place)
    before = _before_revision(candidates, about.get("source")) if action == "revise" else ""
    copies = sum(_normalize_spaces(text) == _normalize_spaces(human) for text in candidates)
    return Turn(len(context), human, usable, action, version, before if before in usable else "", copies)


def _before_revision(candidates: Sequence[str], source: object) -> str:
    """The candidate at the place that the turn names as its source; "" if it names none."""
    if isinstance(source, bool) or not isinstance(source, int) or not 0 <= source < len(candidates):
        return ""
    return candidates[source]


def _usable(human: str, candidates: Sequence[str]) -> tuple[str, ...]:
    """Candidates in displayed order that are not empty and differ, by more than white space, from all before.

    A candidate equal to the human reply is the one that the annotator selected. Ranked against itself it would cost
    log 2 whatever the model does.
    """
    seen = {"", _normalize_spaces(human)}
    usable = []
    for text in candidates:
        key = _normalize_spaces(text)
        if key not in seen:
            seen.add(key)
            usable.append(text)
    return tuple(usable)


def _normalize_spaces(text: str) -> str:
    return " ".join(text.split())


@dataclass(slots=True)
class _QuadrupleRows:
    """Rows of the format `quadruples` that belong to one dialogue.

    first: the first of them, for what all share. utterances: the longest context with its reply. candidates, rows: by
    position of the reply.
    """

    first: Row
    utterances: tuple[str, ...] = ()
    candidates: dict[int, list[str]] = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)


def _from_quadruples(rows: Sequence[tuple[str, Row]]) -> list[TrainingDialogue]:
    """Join the rows of each dialogue id. Their `random` is ignored, because it is drawn again in every epoch."""
    gathered: dict[tuple[str, int], _QuadrupleRows] = {}
    for place, row in rows:
        utterances = (*text_list_field(row, "context", place), text_field(row, "human", place, required=True))
        name = name_field(row, "dialogue_id") or place
        dialogue = _matching_dialogue(gathered, name, utterances, row)
        position = len(utterances) - 1
        dialogue.utterances = max(dialogue.utterances, utterances, key=len)
        dialogue.candidates.setdefault(position, []).append(text_field(row, "model", place))
        dialogue.rows.setdefault(position, row)
    return [_join_rows(name, dialogue) for (name, _), dialogue in gathered.items()]


def _matching_dialogue(
    gathered: dict[tuple[str, int], _QuadrupleRows], name: str, utterances: tuple[str, ...], row: Row
) -> _QuadrupleRows:
    """The dialogue of that name whose utterances agree; two texts under one id become two dialogues.

    One of the two utterance lists must be a prefix of the other. Files joined from several sources reuse ids.
    """
    version = 0
    while (found := gathered.setdefault((name, version), _QuadrupleRows(row))).utterances:
        shorter = min(len(found.utterances), len(utterances))
        if found.utterances[:shorter] == utterances[:shorter]:
            break
        version += 1
    return found


def _join_rows(name: str, dialogue: _QuadrupleRows) -> TrainingDialogue:
    """One dialogue with a turn for every context length that had a row."""
    utterances, place = dialogue.utterances, _("dialogue %(name)s") % {"name": name}
    turns = (
        _turn(utterances[:position], utterances[position], candidates, dialogue.rows[position], place)
        for position, candidates in sorted(dialogue.candidates.items())
    )
    return TrainingDialogue(
        name,
        text_field(dialogue.first, "split", place),
        text_field(dialogue.first, "domain", place),
        text_field(dialogue.first, "language", place),
        utterances,
        tuple(turn for turn in turns if turn is not None),
    )
