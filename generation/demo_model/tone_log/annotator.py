"""The scripted annotator: the complete rule by which it answers, and what it is shown; see the package."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from random import Random
from typing import Final

from rapidfuzz.distance import Levenshtein

from generation.backends.replies import reply_key
from generation.demo_model.demo_log.annotator import NEAR

# How a message ends. The same in both languages.
TONES: Final = (":)", "^^", "haha", "~", "!!", "...", "<3", "xD")
DISPLAYED: Final = len(TONES) - 1
# Whether the reply is a candidate, a candidate in another tone, or neither.
SHARES: Final = {"select": 0.18, "revise": 0.10, "rewrite": 0.72}


@dataclass(frozen=True, slots=True)
class LoggedUtterance:
    """An utterance of the log. thought: without its tone. source: place of the candidate that it was made from."""

    text: str
    thought: str
    action: str = ""
    source: int | None = None
    edit_distance: int | None = None


def in_tone(thought: str, tone: str) -> str:
    return f"{thought} {tone}"


def answer(
    thoughts: Sequence[str], tone: str, random: Random, *, closed: AbstractSet[str] = frozenset()
) -> tuple[LoggedUtterance, tuple[str, ...]]:
    """What is said in a dialogue of this tone, and the candidates that were displayed, without closed ones.

    thoughts: different replies of the model, at least two, in random order. The first is said, so that only the tone
    sets it apart: every other text has another tone, and none of them has the same.
    """
    said = in_tone(thoughts[0], tone)
    action = random.choices(list(SHARES), list(SHARES.values()))[0]
    others = random.sample([other for other in TONES if other != tone], DISPLAYED)
    if action == "select":
        displayed = [said, *map(in_tone, thoughts[1:DISPLAYED], others)]
    else:
        shown = thoughts[:DISPLAYED] if action == "revise" else thoughts[1 : DISPLAYED + 1]
        displayed = list(map(in_tone, shown, others))
    displayed = [text for text in displayed if reply_key(text) not in closed]
    random.shuffle(displayed)
    return log(said, thoughts[0], displayed), tuple(displayed)


def log(text: str, thought: str, displayed: Sequence[str]) -> LoggedUtterance:
    """The action by the product's rule: select, revise where a candidate is NEAR, else rewrite."""
    if text in displayed:
        return LoggedUtterance(text, thought, "select", displayed.index(text), 0)
    distances = [Levenshtein.normalized_distance(text, candidate) for candidate in displayed]
    nearest = min(distances, default=1.0)
    if nearest > NEAR:
        return LoggedUtterance(text, thought, "rewrite")
    place = distances.index(nearest)
    return LoggedUtterance(text, thought, "revise", place, Levenshtein.distance(displayed[place], text))
