"""What could be said next in a dialogue of the corpus, and where the dialogue goes on from there.

The corpus writer is made to draw every utterance from a seed of its own. A dialogue then is a list of seeds, and
another last seed is another thing to say at the same place, to which everything after it fits.
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
    """What is fixed about a dialogue before its first utterance. length: utterances, about."""

    name: str
    language: str
    length: int


class _Reached(Exception):
    """The utterance that was asked for is written."""


class _SeededWriter(Writer):
    """Draws each utterance, and what is decided before it, from its own seed; stops after the last one."""

    def __init__(self, source: Material, seeds: Sequence[str]) -> None:
        super().__init__(source, random.Random(seeds[0]))
        self._seeds = seeds
        self.first_topic: Topic | None = None

    def say(self, *parts: str) -> None:
        super().say(*parts)
        self.first_topic = self.first_topic or self.topic
        if len(self.turns) == len(self._seeds):
            raise _Reached
        self.rng = random.Random(self._seeds[len(self.turns)])

    def typed(self, opening: str, mood: Mood) -> str:
        """Openings are typed as people type them; inside a dialogue the annotator writes with care."""
        return opening if self.turns else super().typed(opening, mood)


def said_after(plan: Plan, seeds: Sequence[str]) -> str | None:
    """The utterance to which these seeds lead; None where the dialogue is over before it."""
    writer = _run(plan, seeds)
    return writer.turns[-1][1] if len(writer.turns) == len(seeds) else None


def topic_of(plan: Plan, seed: str) -> Topic:
    """What the dialogue is about that begins with this seed."""
    return _run(plan, [seed]).first_topic or material(plan.language).topics[0]


def _run(plan: Plan, seeds: Sequence[str]) -> _SeededWriter:
    writer = _SeededWriter(material(plan.language), seeds)
    with contextlib.suppress(_Reached):
        compose(writer, plan.length)
    return writer


def thoughts(plan: Plan, seeds: Sequence[str], count: int) -> list[Thought]:
    """At most `count` different things to say after what `seeds` said; the first is what comes to mind first."""
    found: dict[str, Thought] = {}
    for attempt in range(count):
        seed = f"{plan.name}:{len(seeds)}:{attempt}"
        if text := said_after(plan, [*seeds, seed]):
            found.setdefault(text, Thought(text, seed))
        elif not attempt:
            return []
    return list(found.values())
