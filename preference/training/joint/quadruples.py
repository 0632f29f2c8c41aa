"""Drawing the quadruples of an epoch: context, human reply, one displayed candidate, one reply from elsewhere.

Source: Diamante, sections 3 and 4.1.1, and its published code, which draws the model's reply among the candidates that
are least similar to the human one. A candidate that was revised by one word is nearly as good as the revision, so that
ranking it lower teaches little.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

WITHIN = ("language", "domain")  # what a random reply shares with its context
SHUFFLED = ("dialogues", "turns")  # what is in random order
ATTEMPTS = 20  # random draws before all replies are searched; nearly always the first one will do


@dataclass(frozen=True, slots=True)
class Quadruple:
    """(context, human, model, random) of one turn.

    dialogue, turn: indices, `dialogues[dialogue].turns[turn]` holds context and human reply. model: the candidate.
    random: the reply of another dialogue in the same language.
    """

    dialogue: int
    turn: int
    model: str
    random: str


def character_f1(one: str, other: str) -> float:
    """Similarity of two texts from 0 to 1: the harmonic mean of precision and recall of their characters.

    Characters count as often as they occur: F1 = 2 · |one ∩ other| / (|one| + |other|) over multisets.
    """
    return _f1(Counter(one), len(one), other)


def _f1(counts: Counter[str], length: int, other: str) -> float:
    shared = sum(min(counts[character], number) for character, number in Counter(other).items())
    return 2 * shared / (length + len(other)) if shared else 0.0


def least_similar(turn: Turn, among: int | None) -> tuple[str, ...]:
    """The `among` candidates least similar to the human reply by character F1, the least similar first.

    All of them, in displayed order, if among is None or there are fewer.
    """
    if among is None or len(turn.candidates) <= among:
        return turn.candidates
    counts, length = Counter(turn.human), len(turn.human)
    return tuple(sorted(turn.candidates, key=lambda text: _f1(counts, length, text))[:among])


class RandomReplies:
    """The replies of all dialogues by language, to draw those of other dialogues from."""

    def __init__(self, dialogues: Sequence[TrainingDialogue], within: str) -> None:
        """within: one of WITHIN; domain: of the same language and domain, if any other dialogue there has a reply."""
        self._languages = [(dialogue.spoken_language,) for dialogue in dialogues]
        self._narrow = [
            (dialogue.spoken_language, dialogue.domain) if within == "domain" else language
            for dialogue, language in zip(dialogues, self._languages, strict=True)
        ]
        self._replies = self._group(dialogues)

    def _group(
        self, dialogues: Sequence[TrainingDialogue]
    ) -> Mapping[tuple[str, ...], list[tuple[int, str]]]:
        """(index of the dialogue, text) by language, and by language and domain."""
        groups: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
        for number, dialogue in enumerate(dialogues):
            replies = [(number, text) for text in dialogue.utterances[1:] if text]
            for key in {self._languages[number], self._narrow[number]}:
                groups[key] += replies
        return groups

    def any_dialogue_has_another(self) -> bool:
        """Whether at least two dialogues of one language have replies."""
        return any(len({number for number, _text in replies}) > 1 for replies in self._replies.values())

    def draw(self, random: Random, dialogue: int, excluded: set[str]) -> str:
        """A reply of another dialogue that is not among the excluded; "" if every reply is.

        Replies of the same dialogue are left out because many would fit the context, and would be ranked last for it.
        """
        narrow, language = self._narrow[dialogue], self._languages[dialogue]
        drawn = self._draw_from(narrow, random, dialogue, excluded)
        return drawn or (self._draw_from(language, random, dialogue, excluded) if narrow != language else "")

    def _draw_from(self, key: tuple[str, ...], random: Random, dialogue: int, excluded: set[str]) -> str:
        replies = self._replies.get(key)
        if not replies:
            return ""
        for _attempt in range(ATTEMPTS):
            number, text = random.choice(replies)
            if number != dialogue and text not in excluded:
                return text
        left = [text for number, text in replies if number != dialogue and text not in excluded]
        return random.choice(left) if left else ""


class QuadrupleSampler:
    """Draws the quadruples of every epoch from a seed; similarities are computed once."""

    def __init__(
        self,
        dialogues: Sequence[TrainingDialogue],
        *,
        seed: int,
        similar: int | None = 5,
        random_within: str = "language",
    ) -> None:
        """similar, random_within: as in JointRecipe. Raises TrainingError if there is nothing to draw from."""
        self._dialogues = dialogues
        self._seed = seed
        self._candidates = [
            [least_similar(turn, similar) for turn in dialogue.turns] for dialogue in dialogues
        ]
        self._random_replies = RandomReplies(dialogues, random_within)
        self._check()

    def _check(self) -> None:
        """Raise TrainingError if every draw would fail. Cheap, and before the model is loaded."""
        if not any(self._candidates):
            raise TrainingError(
                _("No utterance has a candidate that differs from what the person wrote."),
                _("Use dialogues that were written with candidates shown."),
            )
        if not self._random_replies.any_dialogue_has_another():
            raise TrainingError(
                _("There is only one dialogue in each language, and a random reply must come from another."),
                _("Train on at least two dialogues with replies in the same language."),
            )

    def epoch(self, number: int) -> list[Quadruple]:
        """The quadruples of epoch `number`, in the order of the dialogues; the same for the same seed and number.

        A turn is skipped, in every epoch, if no other dialogue has a reply that differs from its human reply and its
        candidate. Raises TrainingError if that leaves no turn.
        """
        random = Random(f"{self._seed}/{number}")
        drawn = []
        for index, (dialogue, by_turn) in enumerate(zip(self._dialogues, self._candidates, strict=True)):
            for place, (turn, candidates) in enumerate(zip(dialogue.turns, by_turn, strict=True)):
                drawn += self._draw(random, index, place, turn.human, candidates)
        if not drawn:
            raise TrainingError(
                _("All dialogues have the same replies, so no random reply differs from the true one."),
                _("Train on different dialogues."),
            )
        return drawn

    def _draw(
        self, random: Random, dialogue: int, turn: int, human: str, candidates: Sequence[str]
    ) -> list[Quadruple]:
        """A list of one quadruple; empty if no random reply differs from the human's and from any candidate."""
        first_choice = random.choice(candidates)
        for candidate in (first_choice, *candidates):  # the others only if the first leaves no random reply
            other = self._random_replies.draw(random, dialogue, {human, candidate})
            if other:
                return [Quadruple(dialogue, turn, candidate, other)]
        return []


def draw_quadruples(
    dialogues: Sequence[TrainingDialogue], *, seed: int, epoch: int, similar: int | None = 5
) -> list[Quadruple]:
    """The quadruples of one epoch; for several epochs, keep a QuadrupleSampler.

    The model reply is drawn from the `similar` candidates least similar to the human reply (None: from all), the
    random reply among the replies of all other dialogues in the same language.
    """
    return QuadrupleSampler(dialogues, seed=seed, similar=similar).epoch(epoch)


def split_into_steps(
    drawn: Sequence[Quadruple], *, batch: int, seed: int, epoch: int, shuffle: str = "dialogues"
) -> list[list[Quadruple]]:
    """The quadruples of each optimiser step: `batch` of them, fewer in the last.

    shuffle: one of SHUFFLED. Of dialogues in random order each stays together, because a tree encodes its shared text
    once; one that does not fit continues in the next step. Turns in random order regardless of their dialogues are what
    the published code of Diamante feeds. The order is the same for every layout.
    """
    random = Random(f"{seed}/{epoch}/order")
    if shuffle == "turns":
        flat = random.sample(drawn, len(drawn))
    else:
        by_dialogue: dict[int, list[Quadruple]] = {}
        for quadruple in drawn:
            by_dialogue.setdefault(quadruple.dialogue, []).append(quadruple)
        groups = list(by_dialogue.values())
        random.shuffle(groups)
        flat = [quadruple for group in groups for quadruple in group]
    return [flat[start : start + batch] for start in range(0, len(flat), batch)]
