"""The scripted annotator: the complete rule by which it answers, given the candidates; see DATA_CARD.md."""

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

# Share of the longer text that may be edited; a text farther from every candidate counts as written, not revised.
NEAR: Final = 0.5
# Sentences are counted in so many dialogues per language, from a seed that the model was not trained on.
COUNTED_DIALOGUES: Final = 2000
COUNTED_SEED: Final = 20_261_121
SENTENCE: Final = re.compile(r"[^.!?。！？]+")


@dataclass(frozen=True, slots=True)
class LoggedUtterance:
    """An utterance of the log. source: place of the candidate that it was made from. seed: of the thought behind it."""

    text: str
    seed: str
    action: str
    source: int | None
    edit_distance: int | None


def choose_utterance(
    thoughts: Sequence[Thought], candidates: Sequence[str], language: str
) -> LoggedUtterance:
    """The most particular thought that no candidate says, or the most particular one if candidates say all of them.

    It counts as selected if a candidate says it, as revised if a candidate is NEAR, else as rewritten. thoughts: at
    least one.
    """
    offered = {reply_key(text): place for place, text in reversed(list(enumerate(candidates)))}
    unsaid = [thought for thought in thoughts if reply_key(thought.text) not in offered]
    thought = max(unsaid or thoughts, key=lambda thought: particularity(thought.text, language))
    if not unsaid:
        place = offered[reply_key(thought.text)]
        return LoggedUtterance(candidates[place], thought.seed, "select", place, 0)
    distances = [Levenshtein.normalized_distance(text, thought.text) for text in candidates]
    place = distances.index(min(distances))
    if distances[place] > NEAR:
        return LoggedUtterance(thought.text, thought.seed, "rewrite", None, None)
    return LoggedUtterance(
        thought.text, thought.seed, "revise", place, Levenshtein.distance(candidates[place], thought.text)
    )


def particularity(text: str, language: str) -> float:
    """How rare the sentences of a text are: -log frequency in nats, averaged. Low for "I see.", high for particulars.

    A mean, so that a longer text is not better because it is longer.
    """
    counts = _sentence_counts(language)
    keys = _sentences(text)
    return sum(math.log(counts.total() / (1 + counts[key])) for key in keys) / max(1, len(keys))


def _sentences(text: str) -> list[str]:
    return [key for sentence in SENTENCE.findall(text) if (key := reply_key(sentence))]


@cache
def _sentence_counts(language: str) -> Counter[str]:
    dialogues = write_corpus(COUNTED_SEED, 2 * COUNTED_DIALOGUES)
    texts = (text for of, turns in dialogues if of == language for _, text in turns)
    return Counter(key for text in texts for key in _sentences(text))
