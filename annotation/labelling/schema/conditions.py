"""Conditions on answers and speakers, evaluated on settled answers: a question that is not shown has no answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

AnswersByQuestion = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OneOf:
    """The answer of `question` is one of `values`."""

    question: str
    values: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Includes:
    """`value` is among the chosen answers of `question`."""

    question: str
    value: int | str


@dataclass(frozen=True, slots=True)
class SpokenBy:
    """The speaker of the utterance is one of `speakers`."""

    speakers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Condition"


Condition = OneOf | Includes | SpokenBy | AllOf | AnyOf | Not


def holds(condition: Condition, given: AnswersByQuestion, speaker: str | None) -> bool:
    """Evaluate a condition.

    given: the answers of the dialogue and of the utterance, by question; keys are unique across both.
    """
    match condition:
        case OneOf(question, values):
            return question in given and given[question] in values
        case Includes(question, value):
            return value in given.get(question, ())
        case SpokenBy(speakers):
            return speaker in speakers
        case AllOf(parts):
            return all(holds(part, given, speaker) for part in parts)
        case AnyOf(parts):
            return any(holds(part, given, speaker) for part in parts)
        case Not(part):
            return not holds(part, given, speaker)


def leaves(condition: Condition) -> Iterator[OneOf | Includes | SpokenBy]:
    """The conditions without parts that a condition consists of."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case _:
            yield condition


def references(condition: Condition) -> set[str]:
    """The keys of the questions that a condition refers to."""
    return {leaf.question for leaf in leaves(condition) if not isinstance(leaf, SpokenBy)}
