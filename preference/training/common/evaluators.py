"""What every evaluator of replies takes and gives, whatever it computes.

    {"id": "7", "history": ["Hi!", "Hello."], "response": "How are you?", "reference": "…", "human": 4.2}    a row in
    {"id": "7", "score": 0.71, …}                                                                            a row out
    {"id": "8", "score": null, "reason": "The response is empty."}             a row that the evaluator cannot score

An evaluator gets many replies at once and decides itself what it computes together; what it gives is in their order. It
never makes up a score: one that it cannot compute is null, with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from preference.training.common.errors import TrainingError
from preference.training.common.json_lines import Row, read_rows, text_field, wrong_field
from preference.training.common.messages import gettext as _


@dataclass(frozen=True, slots=True)
class ReplyToScore:
    """A reply in its context.

    id: unique in its file. history: the utterances before the reply, oldest first; may be empty. reference: what a
    person wrote in its place. human: how a person scored it, in any unit. knowledge: what the speakers were given to
    talk about. speakers: of the history and the response; empty if unknown.
    """

    id: str
    history: tuple[str, ...]
    response: str
    reference: str | None = None
    human: float | None = None
    knowledge: str = ""
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyScore:
    """value: None if the evaluator cannot score the reply; `reason` then says why, in a whole sentence.

    details: further columns of the output, as JSON values. Raises ValueError for a value that is not finite.
    """

    id: str
    value: float | None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(
                f"The score of {self.id!r} is {self.value}; it must be finite, or None with a reason."
            )

    def as_row(self) -> Row:
        """The row of the output file."""
        reason = {"reason": self.reason} if self.value is None else {}
        return {"id": self.id, "score": self.value, **self.details, **reason}


class Evaluator(Protocol):
    """Scores replies; a higher score means a better reply.

    name: short, unique among the evaluators of one comparison; it is a column of the report.
    """

    @property
    def name(self) -> str: ...

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        """One score for each reply, in their order. Raises TrainingError if nothing can be scored at all."""
        ...

    def describe(self) -> dict[str, Any]:
        """What decides about the scores, as JSON values: model, version, settings, prompts. Goes to the lineage."""
        ...


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A reply with its row, for whoever needs further columns. place: in words, for messages."""

    reply: ReplyToScore
    row: Row
    place: str


def read_replies(file: Path) -> list[ReplyToScore]:
    """The replies of a JSONL file. Raises TrainingError with the line for what is wrong, and for an id used twice."""
    return [each.reply for each in read_reply_rows(file)]


def read_reply_rows(file: Path) -> list[ReplyRow]:
    """As read_replies, with all columns."""
    return parse_reply_rows(file, read_rows(file))


def parse_reply_rows(file: Path, given: Iterable[tuple[str, Any]]) -> list[ReplyRow]:
    """given: rows of the file, each with its place in words. Raises TrainingError as read_replies."""
    rows: dict[str, ReplyRow] = {}
    for place, row in given:
        reply = _parse_reply(row, place)
        if reply.id in rows:
            raise TrainingError(
                _("In %(place)s: the id %(id)s is used twice.") % {"place": place, "id": reply.id},
                _("Give every row an id of its own."),
            )
        rows[reply.id] = ReplyRow(reply, row, place)
    if not rows:
        raise TrainingError(
            _("%(file)s holds no row.") % {"file": file}, _("Name a JSONL file with replies.")
        )
    return list(rows.values())


def _parse_reply(row: Any, place: str) -> ReplyToScore:
    if not isinstance(row, dict):
        raise TrainingError(
            _("In %(place)s: a row must be a JSON object.") % {"place": place},
            _("Correct or remove the line."),
        )
    name, human = row.get("id"), row.get("human")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise wrong_field(_("In %(place)s: `%(key)s` must be text or a number."), place, "id")
    if human is not None and (isinstance(human, bool) or not isinstance(human, int | float)):
        raise wrong_field(_("In %(place)s: `%(key)s` must be a number."), place, "human")
    history = row.get("history")
    if not isinstance(history, list) or not all(isinstance(text, str) for text in history):
        raise wrong_field(_("In %(place)s: `%(key)s` must be a list of texts."), place, "history")
    speakers = row.get("speakers") or []
    if not isinstance(speakers, list) or not all(isinstance(speaker, str) for speaker in speakers):
        raise wrong_field(_("In %(place)s: `%(key)s` must be a list of texts."), place, "speakers")
    if speakers and len(speakers) != len(history) + 1:
        raise wrong_field(
            _("In %(place)s: `%(key)s` must name who said each text of the history and the response."),
            place,
            "speakers",
        )
    return ReplyToScore(
        id=str(name),
        history=tuple(text.strip() for text in history),
        response=text_field(row, "response", place, required=True),
        reference=text_field(row, "reference", place) or None,
        human=None if human is None else float(human),
        knowledge=text_field(row, "knowledge", place),
        speakers=tuple(speakers),
    )
