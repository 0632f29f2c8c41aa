"""What a turn is learned from in an epoch: the person's reply, one shown candidate, one reply from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.joint.data import TrainingDialogue, Turn

ATTEMPTS = 20  # random draws before every reply is looked at


@dataclass(frozen=True, slots=True)
class Quadruple:
    """(context, human, model, random) of a turn: `dialogues[dialogue].turns[turn]` holds the first two."""

    dialogue: int
    turn: int
    model: str
    random: str


def character_f1(one: str, other: str) -> float:
    """Harmonic mean of precision and recall of characters, each counted as often as it occurs; 0 to 1."""
    return _f1(Counter(one), len(one), other)


def _f1(counted: Counter[str], length: int, other: str) -> float:
    shared = sum(min(counted[character], number) for character, number in Counter(other).items())
    return 2 * shared / (length + len(other)) if shared else 0.0


def least_similar(turn: Turn, among: int | None) -> tuple[str, ...]:
    """The `among` candidates least similar to the person's reply, or all of them (None, or no more than that)."""
    if among is None or len(turn.candidates) <= among:
        return turn.candidates
    counted, length = Counter(turn.human), len(turn.human)
    return tuple(sorted(turn.candidates, key=lambda text: _f1(counted, length, text))[:among])


class QuadrupleSampler:
    """Draws the quadruples of every epoch; the similarities are computed once."""

    def __init__(self, dialogues: Sequence[TrainingDialogue], *, seed: int, similar: int | None = 5) -> None:
        """Raises TrainingError where there is nothing to draw from."""
        self._dialogues = dialogues
        self._seed = seed
        self._models = [[least_similar(turn, similar) for turn in dialogue.turns] for dialogue in dialogues]
        self._replies = [
            (number, text)
            for number, dialogue in enumerate(dialogues)
            for text in dialogue.utterances[1:]
            if text
        ]
        self._check()

    def _check(self) -> None:
        if not any(self._models):
            raise TrainingError(
                _("No utterance has a candidate that differs from what the person wrote."),
                _("Use dialogues that were written with candidates shown."),
            )
        if len({number for number, _ in self._replies}) < 2:
            raise TrainingError(
                _("There is one dialogue only, and a random reply must come from another."),
                _("Train on at least two dialogues with replies."),
            )

    def epoch(self, number: int) -> list[Quadruple]:
        """In the order of the dialogues; the same for the same seed and number.

        A turn for which no other dialogue has a reply that differs from both others is left out, in every epoch.
        """
        random = Random(f"{self._seed}/{number}")
        found = []
        for at, (dialogue, models) in enumerate(zip(self._dialogues, self._models, strict=True)):
            for place, (turn, candidates) in enumerate(zip(dialogue.turns, models, strict=True)):
                found += self._drawn(random, at, place, turn.human, candidates)
        if not found:
            raise TrainingError(
                _("All dialogues have the same replies, so no random reply differs from the true one."),
                _("Train on different dialogues."),
            )
        return found

    def _drawn(
        self, random: Random, dialogue: int, turn: int, human: str, candidates: Sequence[str]
    ) -> list[Quadruple]:
        """One quadruple, or none."""
        model = random.choice(candidates)
        for shown in (model, *candidates):  # the others only where the first leaves no random reply
            other = self._elsewhere(random, dialogue, {human, shown})
            if other:
                return [Quadruple(dialogue, turn, shown, other)]
        return []

    def _elsewhere(self, random: Random, dialogue: int, taken: set[str]) -> str:
        for _attempt in range(ATTEMPTS):
            number, text = random.choice(self._replies)
            if number != dialogue and text not in taken:
                return text
        left = [text for number, text in self._replies if number != dialogue and text not in taken]
        return random.choice(left) if left else ""


def quadruples(
    dialogues: Sequence[TrainingDialogue], *, seed: int, epoch: int, similar: int | None = 5
) -> list[Quadruple]:
    """One epoch; for several, keep a QuadrupleSampler.

    m is drawn among the `similar` candidates least similar to the human reply by character F1 (None: among all),
    r among the replies of all other dialogues. Source: Diamante, section 3, and its published code.
    """
    return QuadrupleSampler(dialogues, seed=seed, similar=similar).epoch(epoch)


def optimiser_steps(
    drawn: Sequence[Quadruple], *, batch: int, seed: int, epoch: int
) -> list[list[Quadruple]]:
    """The quadruples of each optimiser step: `batch` of them, fewer in the last.

    Dialogues come in random order and are kept together, because a tree encodes what they share once; one that does
    not fit is continued in the next step. The same for every layout.
    """
    by_dialogue: dict[int, list[Quadruple]] = {}
    for quadruple in drawn:
        by_dialogue.setdefault(quadruple.dialogue, []).append(quadruple)
    groups = list(by_dialogue.values())
    Random(f"{seed}/{epoch}/order").shuffle(groups)
    flat = [quadruple for group in groups for quadruple in group]
    return [flat[start : start + batch] for start in range(0, len(flat), batch)]
