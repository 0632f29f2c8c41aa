"""Replies that people judged, and what evaluators gave them.

    {"id": "7", "history": ["Hi!"], "response": "Hello.", "human": 4.3}                     one score of all people
    {…, "humans": [4, 5, 4]}  or  {…, "humans": {"ann": 4, "bob": 5}}                       one of each person
    {…, "label": "good"}  or  {…, "labels": ["good", "bad", "good"]}                        categories
    {…, "system": "A"}                                                                      who wrote the reply

Without `human` the mean of `humans` counts, without `label` the majority of `labels`. A null stands for a person who
did not judge the row. In lists, the same place means the same person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from measures.voting import majority
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyRow, ReplyScore, ReplyToScore, parse_reply_rows
from preference.training.common.json_lines import read_rows, text_field, wrong_field
from preference.training.common.messages import gettext as _
from preference.training.meta.public_sets import read_published

T = TypeVar("T")
Label = str | int


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """reply.human: people's score, None if it is unknown. humans, labels: by person. system: "" if unknown."""

    reply: ReplyToScore
    humans: Mapping[str, float] = field(default_factory=dict)
    label: Label | None = None
    labels: Mapping[str, Label] = field(default_factory=dict)
    system: str = ""


@dataclass(frozen=True, slots=True)
class EvaluatorResult:
    """What one evaluator gave all rows, in their order. description: None for scores from a file."""

    name: str
    scores: Sequence[ReplyScore]
    description: Mapping[str, Any] | None = None

    @property
    def values(self) -> list[float | None]:
        return [score.value for score in self.scores]


def read_judged_replies(
    file: Path, human: str = "human", file_format: str | None = None
) -> list[JudgedReply]:
    """The rows of a file. human: the column of the score, or "column.key" for one score of several.

    file_format: of public_sets.FORMATS; None: JSONL. Raises TrainingError with the line for what is wrong, and if
    nobody judged any row.
    """
    rows = read_published(file, file_format) if file_format else read_rows(file)
    replies = [_judged(each, human) for each in parse_reply_rows(file, rows)]
    if all(reply.reply.human is None and reply.label is None for reply in replies):
        raise TrainingError(
            _("No row of %(file)s has a human score.") % {"file": file},
            _("Add the column `human`, `humans`, `label` or `labels`, or name another with --human."),
        )
    return replies


def read_scores(name: str, file: Path, replies: Sequence[JudgedReply]) -> EvaluatorResult:
    """Scores of a file as `score` writes it, put into the order of the replies.

    A reply that the file lacks has no score. Raises TrainingError with the line for what is wrong.
    """
    scores: dict[str, ReplyScore] = {}
    for place, row in read_rows(file):
        score = _parse_score(row, place)
        scores[score.id] = score
    if not scores.keys() & {each.reply.id for each in replies}:
        raise TrainingError(
            _("%(file)s has no score for any of the replies.") % {"file": file},
            _("Name the scores of the same data."),
        )
    missing = _("The file of scores lacks the row.")
    return EvaluatorResult(
        name,
        [scores.get(each.reply.id) or ReplyScore(each.reply.id, None, missing) for each in replies],
    )


def _judged(row: ReplyRow, human: str) -> JudgedReply:
    humans = _by_person(row, "humans", _is_number, _("In %(place)s: `%(key)s` must hold numbers."))
    labels = _by_person(
        row, "labels", _is_label, _("In %(place)s: `%(key)s` must hold texts or whole numbers.")
    )
    label = row.row.get("label")
    if label is not None and not _is_label(label):
        raise wrong_field(_("In %(place)s: `%(key)s` must be text or a whole number."), row.place, "label")
    score = _human_score(row, human)
    if score is None and humans and human == "human":
        score = math.fsum(humans.values()) / len(humans)
    return JudgedReply(
        reply=replace(row.reply, human=score),
        humans={person: float(value) for person, value in humans.items()},
        label=majority(list(labels.values())) if label is None else label,
        labels=labels,
        system=text_field(row.row, "system", row.place),
    )


def _human_score(row: ReplyRow, human: str) -> float | None:
    value: Any = row.row
    for key in human.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is not None and not _is_number(value):
        raise wrong_field(_("In %(place)s: `%(key)s` must be a number."), row.place, human)
    return None if value is None else float(value)


def _by_person(row: ReplyRow, key: str, is_valid: Callable[[Any], bool], message: str) -> dict[str, Any]:
    """The values of a list or an object by person, without nulls."""
    value = row.row.get(key)
    named = {str(place): each for place, each in enumerate(value, 1)} if isinstance(value, list) else value
    if named is None:
        return {}
    if not isinstance(named, dict):
        raise wrong_field(message, row.place, key)
    known = {person: each for person, each in named.items() if each is not None}
    if not all(map(is_valid, known.values())):
        raise wrong_field(message, row.place, key)
    return known


def _parse_score(row: Any, place: str) -> ReplyScore:
    name = row.get("id") if isinstance(row, dict) else None
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise wrong_field(_("In %(place)s: `%(key)s` must be text or a number."), place, "id")
    value = row.get("score")
    if value is not None and not _is_number(value):
        raise wrong_field(_("In %(place)s: `%(key)s` must be a number or null."), place, "score")
    details = {key: item for key, item in row.items() if key not in ("id", "score", "reason")}
    return ReplyScore(str(name), value, text_field(row, "reason", place), details)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
