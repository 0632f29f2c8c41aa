"""Paths name one answer of a dialogue: "quality" of the dialogue, "3/nugget" of the utterance at position 3."""

from collections.abc import Mapping
from typing import Any

from annotation.labelling.schema.answers import Answers


def answer_at(answers: Mapping[str, Any], path: str) -> Any:
    """The answer at a path; None if it is not answered. Drafts and imported answers may lack whole parts."""
    position, _slash, key = path.rpartition("/")
    part = answers.get("utterances", {}).get(position, {}) if position else answers.get("dialogue", {})
    return part.get(key)


def set_answer(answers: Answers, path: str, value: Any) -> None:
    """Set the answer at a path, in place."""
    position, _slash, key = path.rpartition("/")
    part = answers["utterances"].setdefault(position, {}) if position else answers["dialogue"]
    part[key] = value
