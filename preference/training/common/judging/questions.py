"""The questions that a judge answers: those of a labelling schema, as the API and the YAML files of presets have them.

    {"questions": [{"key": "quality", "scope": "dialogue", "kind": "choice", "text": {"en": "…", "zh": "…"},
                    "guideline": {…}, "options": [{"value": 2, "text": {…}, "guideline": {…}}, …]}]}

Every question is asked by itself; conditions between questions (`when`, `sets`) are ignored. Questions with free text
or several answers (`text`, `choices`) are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

Answer = int | str
Subject = Literal["dialogue", "utterance"]
LANGUAGES = ("en", "zh")
JUDGED_KINDS = ("choice", "scale", "slider")
# Both are safe; libyaml also reads what its Python twin refuses, such as "{en: Is it?, zh: …}" in the presets.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class JudgeOption:
    """guideline: when to choose it; may be empty, like `examples`."""

    value: Answer
    text: str
    guideline: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """about: what is judged, a whole dialogue or its last utterance.

    options: what can be answered; empty for a slider, whose answers are the whole numbers from `low` to `high`.
    """

    key: str
    about: Subject
    text: str
    guideline: str = ""
    options: tuple[JudgeOption, ...] = ()
    low: int = 0
    high: int = 100

    def offers(self, value: object) -> bool:
        """Whether `value` is an answer. True and 1.0 do not equal 1 here."""
        if self.options:
            return any(type(value) is type(option.value) and value == option.value for option in self.options)
        return type(value) is int and self.low <= value <= self.high

    @property
    def numbers(self) -> tuple[int, ...]:
        """The answers that are numbers; for a slider its ends."""
        if not self.options:
            return (self.low, self.high)
        return tuple(option.value for option in self.options if isinstance(option.value, int))

    def share(self, value: Answer) -> float | None:
        """Where a number is between the lowest, 0, and the highest, 1; None for text."""
        low, high = min(self.numbers, default=0), max(self.numbers, default=0)
        return (value - low) / (high - low) if isinstance(value, int) and high > low else None


DEFAULT_QUESTION = {
    "en": JudgeQuestion(
        "quality",
        "utterance",
        "How good is the reply?",
        "Consider whether the reply fits what was said before, adds something to the conversation, is natural, and "
        "does not contradict its own speaker. Length alone is not a merit.",
        (
            JudgeOption(1, "very bad"),
            JudgeOption(2, "bad"),
            JudgeOption(3, "mediocre"),
            JudgeOption(4, "good"),
            JudgeOption(5, "very good"),
        ),
    ),
    "zh": JudgeQuestion(
        "quality",
        "utterance",
        "这条回复有多好？",
        "请考虑：回复是否切合前文，是否推进了对话，是否自然，是否与说话人自己说过的话矛盾。长度本身不是优点。",
        (
            JudgeOption(1, "很差"),
            JudgeOption(2, "较差"),
            JudgeOption(3, "一般"),
            JudgeOption(4, "较好"),
            JudgeOption(5, "很好"),
        ),
    ),
}


def read_questions(file: Path, language: str, keys: Collection[str] = ()) -> list[JudgeQuestion]:
    """The questions of a JSON or YAML file; only those with these keys if there are any.

    Raises TrainingError if the file holds none that a judge can answer, or lacks a key.
    """
    try:
        content = yaml.load(file.read_text(encoding="utf-8-sig"), Loader=LOADER)  # noqa: S506
    except OSError as error:
        raise TrainingError(
            _("%(file)s cannot be read: %(reason)s.") % {"file": file, "reason": error.strerror},
            _("Name a file with the questions of a labelling schema."),
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise TrainingError(
            _("%(file)s is neither JSON nor YAML: %(reason)s.") % {"file": file, "reason": reason},
            _("Name a file with the questions of a labelling schema."),
        ) from error
    questions = questions_of(content, language, str(file))
    missing = set(keys) - {question.key for question in questions}
    if missing:
        raise TrainingError(
            _("%(file)s has no question %(key)s that a judge can answer.")
            % {"file": file, "key": min(missing)},
            _("Use one of %(names)s.") % {"names": ", ".join(question.key for question in questions)},
        )
    return [question for question in questions if not keys or question.key in keys]


def questions_of(content: Any, language: str, source: str) -> list[JudgeQuestion]:
    """The questions of a schema's content. source: names it in messages. Raises TrainingError."""
    if isinstance(content, Mapping) and isinstance(content.get("content"), Mapping):
        content = content["content"]  # what the API answers
    try:
        questions = [
            _question(item, language) for item in content["questions"] if item["kind"] in JUDGED_KINDS
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise TrainingError(
            _("%(source)s is not a labelling schema.") % {"source": source},
            _("Name a file with the questions of a labelling schema."),
        ) from error
    if not questions:
        raise TrainingError(
            _("No question in %(source)s can be judged: all need free text or several answers.")
            % {"source": source},
            _("Add a question of the kind choice, scale or slider."),
        )
    return questions


def _question(item: Mapping[str, Any], language: str) -> JudgeQuestion:
    is_slider = item["kind"] == "slider"
    return JudgeQuestion(
        key=item["key"],
        about=item["scope"],
        text=_in_language(item["text"], language),
        guideline=_in_language(item.get("guideline"), language),
        options=() if is_slider else tuple(_option(option, language) for option in item["options"]),
        low=item.get("min", 0),
        high=item.get("max", 100),
    )


def _option(item: Mapping[str, Any], language: str) -> JudgeOption:
    if type(item["value"]) not in (int, str):
        raise TypeError("A value must be a whole number or text.")  # in YAML an unquoted no is false
    return JudgeOption(
        value=item["value"],
        text=_in_language(item["text"], language),
        guideline=_in_language(item.get("guideline"), language),
        examples=tuple(_in_language(example, language) for example in item.get("examples") or ()),
    )


def _in_language(text: str | Mapping[str, str] | None, language: str) -> str:
    if text is None or isinstance(text, str):
        return (text or "").strip()
    return (text.get(language) or text.get(LANGUAGES[0]) or "").strip()
