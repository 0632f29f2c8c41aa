"""The scripted annotator: what it says when it sees the candidates. Its whole rule is here; see DATA_CARD.md."""

from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from generation.backends.replies import reply_key
from generation.demo_model.demo_log.thoughts import Thought

# Of the longer text; what is farther from every candidate was not made from one of them.
NEAR = 0.5


@dataclass(frozen=True, slots=True)
class Said:
    """An utterance of the log. source: place of the candidate it was made from; seed: of the thought behind it."""

    text: str
    seed: str
    action: str
    source: int | None
    edit_distance: int | None


def say(minded: Sequence[Thought], shown: Sequence[str]) -> Said:
    """The first thought that no candidate has, as an edit of a candidate that is near it; where candidates have them
    all, the first is selected. minded: at least one, in the order in which they come to mind."""
    offered = {reply_key(text): place for place, text in reversed(list(enumerate(shown)))}
    own = next((thought for thought in minded if reply_key(thought.text) not in offered), None)
    if own is None:
        place = offered[reply_key(minded[0].text)]
        return Said(shown[place], minded[0].seed, "select", place, 0)
    place = min(range(len(shown)), key=lambda at: Levenshtein.normalized_distance(shown[at], own.text))
    if Levenshtein.normalized_distance(shown[place], own.text) > NEAR:
        return Said(own.text, own.seed, "rewrite", None, None)
    return Said(own.text, own.seed, "revise", place, Levenshtein.distance(shown[place], own.text))
