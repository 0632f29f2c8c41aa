"""What a schema consists of. Only `reading.read_schema` builds one, so everything here is valid."""

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
    CHOICES = "choices"  # several of the options
    SCALE = "scale"  # one of ordered options, whose values are integers
    SLIDER = "slider"  # has no initial value
    TEXT = "text"


class Scope(StrEnum):
    DIALOGUE = "dialogue"
    UTTERANCE = "utterance"


class Nugget(StrEnum):
    """The role of an utterance in UCH (DCH §3.5)."""

    TRIGGER = "trigger"
    REGULAR = "regular"
    GOAL = "goal"
    NONE = "none"


WITH_OPTIONS = frozenset({Kind.CHOICE, Kind.CHOICES, Kind.SCALE})
COMPARED_BY_DEFAULT = frozenset({Kind.CHOICE, Kind.SCALE})
MAX_LENGTH = 10_000  # characters of a text answer


@dataclass(frozen=True, slots=True)
class BilingualText:
    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a question.

    key: the keyboard key; if empty, the page assigns one. speakers: offered only for their utterances; empty: all.
    counts_as: the option that this one equals when agreement is measured (DCH Table 2); None: itself.
    apart: it is not on the scale of the others, so it is shown below them.
    alone: of a question with several answers, it excludes the others ("none").
    """

    value: int | str
    text: BilingualText
    key: str = ""
    speakers: tuple[str, ...] = ()
    nugget: Nugget | None = None
    counts_as: int | str | None = None
    apart: bool = False
    alone: bool = False
    guideline: BilingualText | None = None
    examples: tuple[BilingualText, ...] = ()

    def is_for(self, speaker: str | None) -> bool:
        return not self.speakers or speaker in self.speakers


@dataclass(frozen=True, slots=True)
class ImpliedAnswer:
    """If `when` is true, the answer is `value`, whatever was sent."""

    when: Condition
    value: int | str


@dataclass(frozen=True)
class Question:
    """One question.

    when: the condition under which it is shown. speakers: asked only about their utterances; empty: all.
    agree: whether people are compared on it. runs: consecutive equal labels of one speaker are one nugget.
    low, high: the texts at the ends of a slider.
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
        """Whether the value is one of the options. True and 1.0 do not equal 1 here."""
        return type(value) in (int, str) and value in self._values

    @cached_property
    def _values(self) -> frozenset[int | str]:
        return frozenset(option.value for option in self.options)

    def options_for(self, speaker: str | None) -> tuple[Option, ...]:
        return tuple(option for option in self.options if option.is_for(speaker))

    def is_for(self, speaker: str | None) -> bool:
        """Whether it can be asked about this speaker's utterances. Always true for a question about the dialogue."""
        if self.scope is Scope.DIALOGUE:
            return True
        includes_speaker = not self.speakers or speaker in self.speakers
        return includes_speaker and (
            not self.options or any(option.is_for(speaker) for option in self.options)
        )

    def value_references(self) -> set[str]:
        """The keys of the questions that this one's answer depends on."""
        conditions = [implied.when for implied in self.sets] + ([self.when] if self.when else [])
        return set[str]().union(*(references(condition) for condition in conditions))


@dataclass(frozen=True)
class QuestionSchema:
    """The questions in the order in which they are asked. content: the same as canonical JSON."""

    questions: tuple[Question, ...]
    content: dict[str, Any] = field(compare=False, repr=False, default_factory=dict)
    sha256: str = field(compare=False, repr=False, default="")

    @cached_property
    def by_key(self) -> dict[str, Question]:
        return {question.key: question for question in self.questions}

    @cached_property
    def settling_order(self) -> tuple[Question, ...]:
        """Every question after those that its answer depends on."""
        return tuple(self.by_key[key] for key in in_dependency_order(self.questions))

    @cached_property
    def named_speakers(self) -> frozenset[str]:
        """The speakers that a question or an option names. All other speakers get the same questions."""
        names = [question.speakers for question in self.questions]
        names += [option.speakers for question in self.questions for option in question.options]
        return frozenset(chain.from_iterable(names))

    def questions_for(self, scope: Scope, speaker: str | None) -> tuple[Question, ...]:
        """The questions that can be asked about this speaker's utterances, each with only the options offered.

        In settling order.
        """
        cache_key = (scope, speaker if speaker in self.named_speakers else None)
        if cache_key not in self._questions_cache:
            self._questions_cache[cache_key] = tuple(
                replace(question, options=question.options_for(speaker))
                for question in self.settling_order
                if question.scope is scope and question.is_for(speaker)
            )
        return self._questions_cache[cache_key]

    @cached_property
    def _questions_cache(self) -> dict[tuple[Scope, str | None], tuple[Question, ...]]:
        return {}

    def of_scope(self, scope: Scope) -> tuple[Question, ...]:
        return self._by_scope[scope]

    @cached_property
    def _by_scope(self) -> dict[Scope, tuple[Question, ...]]:
        return {scope: tuple(item for item in self.questions if item.scope is scope) for scope in Scope}


def in_dependency_order(questions: Iterable[Question]) -> list[str]:
    """The keys in topological order. Leaves out those on a cycle and those that depend on one."""
    waiting = {question.key: question.value_references() for question in questions}
    done: dict[str, None] = {}
    while ready := [key for key, references in waiting.items() if references <= done.keys()]:
        for key in ready:
            done[key] = None
            del waiting[key]
    return list(done)
