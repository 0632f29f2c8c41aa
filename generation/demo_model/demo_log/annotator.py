"""The scripted annotator: what it says when it sees the candidates. Its whole rule is here; see DATA_CARD.md."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from rapidfuzz.distance import Levenshtein

from generation.backends.replies import reply_key
from generation.demo_model.corpus import write_corpus
from generation.demo_model.demo_log.thoughts import Thought

# Of the longer text; what is farther from every candidate was not made from one of them.
NEAR: Final = 0.5
# What was said before is known from so many dialogues of each language, with a seed that the model never saw.
HEARD: Final = 2000
HEARD_SEED: Final = 20_261_121
SENTENCE: Final = re.compile(r"[^.!?。！？]+")


@dataclass(frozen=True, slots=True)
class Said:
    """An utterance of the log. source: place of the candidate it was made from; seed: of the thought behind it."""

    text: str
    seed: str
    action: str
    source: int | None
    edit_distance: int | None


def say(minded: Sequence[Thought], shown: Sequence[str], language: str) -> Said:
    """The most particular thing that no candidate says, made from the nearest candidate where one is near, else
    written; where candidates say it all, the most particular of them. minded: at least one thought."""
    offered = {reply_key(text): place for place, text in reversed(list(enumerate(shown)))}
    own = [thought for thought in minded if reply_key(thought.text) not in offered]
    said = max(own or minded, key=lambda thought: particularity(thought.text, language))
    if not own:
        place = offered[reply_key(said.text)]
        return Said(shown[place], said.seed, "select", place, 0)
    distances = [Levenshtein.normalized_distance(text, said.text) for text in shown]
    place = distances.index(min(distances))
    if distances[place] > NEAR:
        return Said(said.text, said.seed, "rewrite", None, None)
    return Said(said.text, said.seed, "revise", place, Levenshtein.distance(shown[place], said.text))


def particularity(text: str, language: str) -> float:
    """How seldom its sentences are heard, in nats, the mean over them: "I see." is low, what fits one talk only high.

    A mean, so that saying more is not better as such.
    """
    heard = _heard(language)
    keys = _sentences(text)
    return sum(math.log(heard.total() / (1 + heard[key])) for key in keys) / max(1, len(keys))


def _sentences(text: str) -> list[str]:
    return [key for sentence in SENTENCE.findall(text) if (key := reply_key(sentence))]


@cache
def _heard(language: str) -> Counter[str]:
    dialogues = write_corpus(HEARD_SEED, 2 * HEARD)
    said = (text for of, turns in dialogues if of == language for _, text in turns)
    return Counter(key for text in said for key in _sentences(text))
