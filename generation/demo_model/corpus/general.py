"""Replies that fit every opening of a kind, whatever it is about.

A tiny model rarely understands what an opening is about, but it can learn what kind of opening it is: good news, a
question how to do something. `general/LANGUAGE/KIND.txt` holds what may then be said:

    r a first sentence, which is also a whole reply
    f a second sentence, which follows any of the first ones and, unless it is about a question, is also a whole reply

It often mistakes one kind for another, good news for bad. So some replies fit several kinds (`CAUTIOUS`): they take no
side, and a model that is unsure learns to prefer them. What is light and what is grave have their own, because a reply
that is warm enough for a loss is too heavy for a weekend's plans.
"""

import random
from dataclasses import dataclass
from functools import cache

from generation.demo_model.corpus.reading import HERE, Lines, source_lines
from generation.demo_model.corpus.wording import join

GENERAL = HERE / "general"
KINDS = (
    "good_news",
    "bad_luck",
    "annoyance",
    "low_mood",
    "death",
    "nervous",
    "plan",
    "report",
    "surprise",
    "opinion",
    "dilemma",
    "regret",
    "question_about_you",
    "yes_or_no",
    "either_or",
    "open_question",
    "advice",
    "fact",
    "why",
    "request",
)
# Files of replies that fit whichever of these kinds an opening is of.
CAUTIOUS = {
    "any_light": ("good_news", "plan", "report", "surprise", "opinion"),
    "any_grave": ("bad_luck", "annoyance", "low_mood", "death", "nervous", "dilemma", "regret"),
    "any_question": ("yes_or_no", "either_or", "open_question", "advice", "fact", "why"),
}  # fmt: skip
QUESTIONS = frozenset((*CAUTIOUS["any_question"], "question_about_you"))
OTHER = "other"  # greetings, thanks and the like, to which nothing general can be said
# Shares of replies of a first sentence alone, and of both.
FIRST, BOTH = 0.35, 0.40


@dataclass(frozen=True, slots=True)
class GeneralReplies:
    """What may be said to openings of one kind, or of several. to_questions: then a second sentence never stands alone.

    "And you?" is no answer.
    """

    language: str
    first: Lines
    second: Lines
    to_questions: bool = False

    def write(self, rng: random.Random) -> str:
        """A first sentence, a second one, or both."""
        form = rng.random() * (FIRST + BOTH if self.to_questions else 1)
        if form < FIRST:
            return rng.choice(self.first)
        if form < FIRST + BOTH:
            return join([rng.choice(self.first), rng.choice(self.second)], self.language)
        return rng.choice(self.second)


@cache
def general_replies(language: str) -> dict[str, GeneralReplies]:
    """By kind. ValueError names the line that is neither r nor f."""
    return {kind: _read(language, kind) for kind in KINDS}


@cache
def cautious_replies(language: str) -> dict[str, GeneralReplies]:
    """By kind, without the kinds to which nothing cautious can be said. Raises as `general_replies` does."""
    return {
        kind: replies
        for name, kinds in CAUTIOUS.items()
        for replies in [_read(language, name)]
        for kind in kinds
    }


def _read(language: str, name: str) -> GeneralReplies:
    path = GENERAL / language / f"{name}.txt"
    lines: dict[str, list[str]] = {"r": [], "f": []}
    for key, rest in source_lines(path):
        if key not in lines:
            raise ValueError(f"{path.name}, '{key} {rest}': a line begins with r or f.")
        lines[key].append(rest)
    to_questions = name in QUESTIONS or name == "any_question"
    return GeneralReplies(language, tuple(lines["r"]), tuple(lines["f"]), to_questions)
