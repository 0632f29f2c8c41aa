"""Texts that were written one by one, not from topics and slots.

`exchanges/LANGUAGE/SUBJECT/NN.txt`: an opening, its kind, and its replies, each of which fits by itself. They teach
which replies fit what nobody foresaw, above all the mood of it.

    o opening
    k kind, one of those of `general.py`
    r reply | reply | ...

`conversations/LANGUAGE/SUBJECT/NN.txt`: two people, an utterance a line, an empty line between two conversations. They
teach how a conversation goes on.

    - I finally repotted the lemon tree.
    - Nice! Was it already too big for its pot?
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

from generation.demo_model.corpus.general import (
    KINDS,
    OTHER,
    QUESTIONS,
    cautious_replies,
    general_replies,
)
from generation.demo_model.corpus.reading import HERE, Lines, source_lines, split
from generation.demo_model.corpus.wording import add_typo, drop_punctuation

EXCHANGES, CONVERSATIONS = HERE / "exchanges", HERE / "conversations"
CONVERSATION = 0.05  # the share of them among the texts that are drawn
GENERAL_REPLIES = 0.9  # the share among the replies of exchanges, cautious ones included
# The share among the general replies of kinds that have cautious ones. More in Chinese: many of its other replies begin
# with the same few characters, and sampling prefers what is frequent.
CAUTIOUS_REPLIES = {"en": 0.4, "zh": 0.5}
# More to good news: nothing is worse than joy at a death that the model takes for it.
CAUTIOUS_AT_GOOD_NEWS = 0.65
VALIDATION = 0.02  # the share of openings that training never sees
# The number of openings of a kind counts to the power of one minus this: rare kinds need practice too.
LEVELLED = 0.3
# Shares of openings that are varied as people type. STOP, of those that end without a mark: the topics end their
# openings with one, and a model that sees it nowhere else takes every stop for a sign of them.
TYPO, LOWER, NO_PUNCTUATION, STOP = 0.05, 0.15, 0.25, 0.5
# The mark after a statement, and after a question.
END_MARKS = {"en": (".", "?"), "zh": ("。", "？")}


@dataclass(frozen=True, slots=True)
class Exchange:
    """An opening with replies to it. kind: of `general.KINDS`, or OTHER."""

    opening: str
    kind: str
    replies: Lines

    @property
    def is_for_validation(self) -> bool:
        """Whether training leaves it out, and reports the loss of its replies. The opening alone decides."""
        return hashlib.sha256(self.opening.encode()).digest()[0] < 256 * VALIDATION

    def write(self, language: str, rng: random.Random) -> tuple[str, str]:
        """The opening as some person might type it, and one of its replies or of the general ones of its kind."""
        text = self.opening
        if rng.random() < TYPO:
            text = add_typo(text, rng)
        if rng.random() < LOWER:
            text = text.lower()
        if text[-1].isalnum() and rng.random() < STOP:
            text += END_MARKS[language][self.kind in QUESTIONS]
        elif rng.random() < NO_PUNCTUATION:
            text = drop_punctuation(text, language)
        if self.kind != OTHER and rng.random() < GENERAL_REPLIES:
            general = general_replies(language)[self.kind]
            share = CAUTIOUS_AT_GOOD_NEWS if self.kind == "good_news" else CAUTIOUS_REPLIES[language]
            if rng.random() < share:
                general = cautious_replies(language).get(self.kind, general)
            return text, general.write(rng)
        return text, rng.choice(self.replies)


def read_exchanges(path: Path) -> Iterator[Exchange]:
    """ValueError names the line if opening, kind and replies do not take turns, or if the kind is unknown."""
    parts: list[str] = []
    for key, rest in source_lines(path):
        if key != "okr"[len(parts)]:
            raise ValueError(
                f"{path.name}, '{key} {rest}': an opening (o), its kind (k) and its replies (r) take turns."
            )
        if key == "k" and rest not in (*KINDS, OTHER):
            raise ValueError(f"{path.name}, '{key} {rest}': this kind is unknown.")
        parts.append(rest)
        if key == "r":
            opening, kind, replies = parts
            yield Exchange(opening, kind, split(replies))
            parts = []
    if parts:
        raise ValueError(f"{path.name}: the last opening has no replies.")


def read_conversations(path: Path) -> Iterator[Lines]:
    """ValueError names the conversation if a line does not begin with "- ", or if it has only one."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.splitlines()
        if len(lines) < 2 or not all(line.startswith("- ") for line in lines):
            raise ValueError(
                f"{path.name}, '{lines[0]}': a conversation is at least two lines that begin with '- '."
            )
        yield tuple(line[2:].strip() for line in lines)


@cache
def exchanges(language: str) -> tuple[Exchange, ...]:
    """All of a language ("en" or "zh"), in the order of their files."""
    paths = sorted((EXCHANGES / language).glob("*/*.txt"))
    return tuple(exchange for path in paths for exchange in read_exchanges(path))


@cache
def training_exchanges(language: str) -> tuple[Exchange, ...]:
    """Those that are not for validation."""
    return tuple(exchange for exchange in exchanges(language) if not exchange.is_for_validation)


@cache
def _weights(language: str) -> list[float]:
    """Of the exchanges for training, added up."""
    every = training_exchanges(language)
    counts = Counter(exchange.kind for exchange in every)
    return list(accumulate(counts[exchange.kind] ** -LEVELLED for exchange in every))


@cache
def conversations(language: str) -> tuple[Lines, ...]:
    """All of a language ("en" or "zh"), in the order of their files."""
    paths = sorted((CONVERSATIONS / language).glob("*/*.txt"))
    return tuple(conversation for path in paths for conversation in read_conversations(path))


def draw_written(language: str, rng: random.Random) -> tuple[Lines, str]:
    """The utterances of one text, and the kind of the first one; OTHER for conversations, whose openings have none."""
    if rng.random() < CONVERSATION:
        return rng.choice(conversations(language)), OTHER
    (exchange,) = rng.choices(training_exchanges(language), cum_weights=_weights(language))
    return exchange.write(language, rng), exchange.kind
