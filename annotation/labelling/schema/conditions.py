"""Conditions on answers and speakers. They hold of settled answers: a question that is not shown has none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Given = Mapping[str, Any]


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
    """One of `speakers` said the utterance."""

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


def holds(condition: Condition, given: Given, speaker: str | None) -> bool:
    """given: answers by question, of the dialogue and of the utterance in question (keys are unique across both)."""
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
    """What a condition is made of in the end."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case _:
            yield condition


def references(condition: Condition) -> set[str]:
    """The questions that a condition asks about."""
    return {leaf.question for leaf in leaves(condition) if not isinstance(leaf, SpokenBy)}
