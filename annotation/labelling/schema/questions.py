"""What a schema consists of. `reading.read` makes it from content, and only that: here everything is right already."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import Any

from annotation.labelling.schema.conditions import Condition, references

AnswerValue = int | str | list[int | str]


class Kind(StrEnum):
    CHOICE = "choice"
    CHOICES = "choices"  # several
    SCALE = "scale"  # one of ordered options, whose values are integers
    SLIDER = "slider"  # without a value at the start
    TEXT = "text"


class Scope(StrEnum):
    DIALOGUE = "dialogue"
    UTTERANCE = "utterance"


class Nugget(StrEnum):
    """What an option says of an utterance in UCH (DCH §3.5)."""

    TRIGGER = "trigger"
    REGULAR = "regular"
    GOAL = "goal"
    NONE = "none"


WITH_OPTIONS = frozenset({Kind.CHOICE, Kind.CHOICES, Kind.SCALE})
COMPARED_BY_DEFAULT = frozenset({Kind.CHOICE, Kind.SCALE})
MAX_LENGTH = 10_000  # characters of an answer in words


@dataclass(frozen=True, slots=True)
class BilingualText:
    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Option:
    """key: of the keyboard; empty: the page gives one. speakers: whose utterances it is offered for; empty: all.

    counts_as: the option that it is the same as when agreement is measured (DCH Table 2); None: itself.
    """

    value: int | str
    text: BilingualText
    key: str = ""
    speakers: tuple[str, ...] = ()
    nugget: Nugget | None = None
    counts_as: int | str | None = None
    guideline: BilingualText | None = None
    examples: tuple[BilingualText, ...] = ()

    def is_for(self, speaker: str | None) -> bool:
        return not self.speakers or speaker in self.speakers


@dataclass(frozen=True, slots=True)
class ImpliedAnswer:
    """Where `when` holds the answer is `value`, whatever was given."""

    when: Condition
    value: int | str


@dataclass(frozen=True)
class Question:
    """when: shown only then. speakers: asked only of their utterances; empty: all. agree: compared between people.

    runs: consecutive equal labels of one speaker are one nugget. low, high: what the ends of a slider say.
    """

    key: str
    scope: Scope
    kind: Kind
    text: BilingualText
    options: tuple[Option, ...] = ()
    when: Condition | None = None
    required: bool | Condition = True
    speakers: tuple[str, ...] = ()
    sets: tuple[ImpliedAnswer, ...] = ()
    agree: bool = True
    runs: bool = False
    low: BilingualText | None = None
    high: BilingualText | None = None
    min: int = 0
    max: int = 100
    max_length: int = MAX_LENGTH
    guideline: BilingualText | None = None

    def offers(self, value: Any) -> bool:
        """True and 1.0 are no 1 here."""
        return type(value) in (int, str) and value in self._values

    @cached_property
    def _values(self) -> frozenset[int | str]:
        return frozenset(option.value for option in self.options)

    def options_for(self, speaker: str | None) -> tuple[Option, ...]:
        return tuple(option for option in self.options if option.is_for(speaker))

    def is_for(self, speaker: str | None) -> bool:
        """Whether it is ever asked of this speaker's utterances; of a dialogue always."""
        if self.scope is Scope.DIALOGUE:
            return True
        asked = not self.speakers or speaker in self.speakers
        return asked and (not self.options or any(option.is_for(speaker) for option in self.options))

    def value_references(self) -> set[str]:
        """The questions on whose answers this one's answer rests."""
        conditions = [implied.when for implied in self.sets] + ([self.when] if self.when else [])
        return set[str]().union(*(references(condition) for condition in conditions))


@dataclass(frozen=True)
class QuestionSchema:
    """The questions in the order in which they are asked, and `content`: the same as canonical JSON."""

    questions: tuple[Question, ...]
    content: dict[str, Any] = field(compare=False, repr=False, default_factory=dict)
    sha256: str = field(compare=False, repr=False, default="")

    @cached_property
    def by_key(self) -> dict[str, Question]:
        return {question.key: question for question in self.questions}

    @cached_property
    def settling_order(self) -> tuple[Question, ...]:
        """Every question after those that its answer rests on."""
        return tuple(self.by_key[key] for key in in_dependency_order(self.questions))

    @cached_property
    def named_speakers(self) -> frozenset[str]:
        """Whom something is asked of or offered for by name; of all others the same is asked."""
        named = [question.speakers for question in self.questions]
        named += [option.speakers for question in self.questions for option in question.options]
        return frozenset(chain.from_iterable(named))

    def asked_of(self, scope: Scope, speaker: str | None) -> tuple[Question, ...]:
        """In settling order the questions that this speaker's utterances can meet, with only the options offered."""
        known = (scope, speaker if speaker in self.named_speakers else None)
        if known not in self._asked:
            self._asked[known] = tuple(
                replace(question, options=question.options_for(speaker))
                for question in self.settling_order
                if question.scope is scope and question.is_for(speaker)
            )
        return self._asked[known]

    @cached_property
    def _asked(self) -> dict[tuple[Scope, str | None], tuple[Question, ...]]:
        return {}

    def of_scope(self, scope: Scope) -> tuple[Question, ...]:
        return self._by_scope[scope]

    @cached_property
    def _by_scope(self) -> dict[Scope, tuple[Question, ...]]:
        return {scope: tuple(one for one in self.questions if one.scope is scope) for scope in Scope}


def in_dependency_order(questions: Iterable[Question]) -> list[str]:
    """Keys sorted by what rests on what; those on a circle, and what rests on them, are left out."""
    waiting = {question.key: question.value_references() for question in questions}
    done: dict[str, None] = {}
    while ready := [key for key, needed in waiting.items() if needed <= done.keys()]:
        for key in ready:
            done[key] = None
            del waiting[key]
    return list(done)
