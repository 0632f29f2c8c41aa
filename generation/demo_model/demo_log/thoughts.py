"""What could be said next in a dialogue of the corpus, and how the dialogue continues from there.

The corpus writer draws every utterance from its own seed, so that a dialogue is a list of seeds. Another last seed
gives another utterance at the same place, and everything after it fits it.
"""

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

from generation.demo_model.corpus.dialogues import Writer, compose
from generation.demo_model.corpus.reading import Material, Mood, Topic, material


@dataclass(frozen=True, slots=True)
class Thought:
    """Something to say, and the seed that leads to it."""

    text: str
    seed: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is fixed about a dialogue before its first utterance. length: approximate number of utterances."""

    name: str
    language: str
    length: int


class _EnoughWritten(Exception):
    """Raised after the requested utterance to stop the writer."""


class _SeededWriter(Writer):
    """Draws each utterance, and the decisions before it, from its own seed; stops after the last seed."""

    def __init__(self, source: Material, seeds: Sequence[str]) -> None:
        super().__init__(source, random.Random(seeds[0]))
        self._seeds = seeds
        self.first_topic: Topic | None = None

    def say(self, *parts: str) -> None:
        super().say(*parts)
        self.first_topic = self.first_topic or self.topic
        if len(self.turns) == len(self._seeds):
            raise _EnoughWritten
        self.rng = random.Random(self._seeds[len(self.turns)])

    def typed(self, opening: str, mood: Mood) -> str:
        """Vary openings as people type them; later utterances stay clean, because the annotator writes with care."""
        return opening if self.turns else super().typed(opening, mood)


def utterance_after(plan: Plan, seeds: Sequence[str]) -> str | None:
    """The utterance after these seeds; None if the dialogue ends before it."""
    writer = _run(plan, seeds)
    return writer.turns[-1][1] if len(writer.turns) == len(seeds) else None


def topic_of(plan: Plan, seed: str) -> Topic:
    """The topic of the dialogue that begins with this seed."""
    return _run(plan, [seed]).first_topic or material(plan.language).topics[0]


def _run(plan: Plan, seeds: Sequence[str]) -> _SeededWriter:
    writer = _SeededWriter(material(plan.language), seeds)
    with contextlib.suppress(_EnoughWritten):
        compose(writer, plan.length)
    return writer


def thoughts(plan: Plan, seeds: Sequence[str], count: int) -> list[Thought]:
    """At most `count` different utterances that may follow `seeds`, in the order drawn; [] if the dialogue is over."""
    by_text: dict[str, Thought] = {}
    for attempt in range(count):
        seed = f"{plan.name}:{len(seeds)}:{attempt}"
        if text := utterance_after(plan, [*seeds, seed]):
            by_text.setdefault(text, Thought(text, seed))
        elif not attempt:
            return []
    return list(by_text.values())
