"""Drawing the pairs of an epoch: a true reply and one that is worse, to the same history (PairEval, section 3.3).

Every true reply gives one pair in every epoch. The origin of its worse reply is drawn among those that it has, each as
likely as any other, and then the reply: an origin with seven texts does not outweigh one with a single text. The seed
also decides which of the two is shown first, "to avoid unintended positional bias".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.paireval.corpus import ORIGINS, RANDOM, Example

ATTEMPTS = 20  # random draws before all replies are searched; nearly always the first one will do


@dataclass(frozen=True, slots=True)
class Pair:
    """positive is better than negative, whose origin is one of ORIGINS. positive_first: whether it is Response A."""

    history: tuple[str, ...]
    knowledge: str
    positive: str
    negative: str
    origin: str
    positive_first: bool

    @property
    def characters(self) -> int:
        """Of all its texts, as a measure of the work that it makes."""
        return sum(map(len, self.history)) + len(self.positive) + len(self.negative)


class PairSampler:
    """Draws the pairs of every epoch from a seed."""

    def __init__(self, examples: Sequence[Example], *, seed: int, origins: Sequence[str] = ORIGINS) -> None:
        """Raises TrainingError if there is nothing to draw from."""
        self._examples, self._seed, self._origins = examples, seed, origins
        self._replies: dict[str, list[tuple[str, str]]] = {}  # by language: dialogue and reply
        for example in examples:
            replies = [(example.dialogue, text) for text in example.positives]
            self._replies.setdefault(example.language, []).extend(replies)
        if not self.epoch(0):
            raise TrainingError(
                _("No reply in the data has a worse one of the origins %(origins)s.")
                % {"origins": ", ".join(origins)},
                _("Use dialogues with candidates, more than one dialogue, or other --negatives."),
            )

    def epoch(self, number: int) -> list[Pair]:
        """The pairs of epoch `number` in random order; the same for the same seed and number.

        A true reply without any worse one is left out, in every epoch.
        """
        pairs = []
        for index, example in enumerate(self._examples):
            # Its own generator: what one row draws does not depend on the rows before it.
            random = Random(f"{self._seed}/{number}/{index}")
            drawn = (self._draw(random, example, positive) for positive in example.positives)
            pairs += [pair for pair in drawn if pair]
        Random(f"{self._seed}/{number}/order").shuffle(pairs)
        return pairs

    def _draw(self, random: Random, example: Example, positive: str) -> Pair | None:
        origins = [origin for origin in self._origins if origin == RANDOM or example.negatives.get(origin)]
        random.shuffle(origins)
        positive_first = random.random() < 0.5
        for origin in origins:  # the second only if the first has nothing to give
            negative = self._negative(random, example, origin)
            if negative:
                return Pair(example.history, example.knowledge, positive, negative, origin, positive_first)
        return None

    def _negative(self, random: Random, example: Example, origin: str) -> str:
        if origin == RANDOM:
            return self._random_reply(random, example)
        return random.choice(example.negatives[origin])

    def _random_reply(self, random: Random, example: Example) -> str:
        """A reply of another dialogue in the same language that is not a true one here; "" if no dialogue has one.

        In another language it would be found by its script, and not by what it says.
        """
        replies = self._replies[example.language]
        for _attempt in range(ATTEMPTS):
            dialogue, text = random.choice(replies)
            if dialogue != example.dialogue and text not in example.positives:
                return text
        left = [
            text
            for dialogue, text in replies
            if dialogue != example.dialogue and text not in example.positives
        ]
        return random.choice(left) if left else ""
