"""Writing the dialogues turn by turn, all of a split at once, so that their replies are decoded together."""

import hashlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Final

from generation.backends.replies import mean_surprise, reply_key
from generation.demo_model.corpus import LANGUAGES, heldout_openings
from generation.demo_model.corpus.reading import material
from generation.demo_model.demo_log.making import topic_domains
from generation.demo_model.demo_log.thoughts import Plan, topic_of, utterance_after
from generation.demo_model.tone_log.annotator import DISPLAYED, TONES, LoggedUtterance, answer, in_tone
from generation.protocol import Backend, BackendError, Message, Reply, ReplyRequest

LENGTHS: Final = (8, 10, 12)
# Dialogues of a round: each language in each tone once. The first rounds are held out, so many for each of HELD_OUT.
ROUND: Final = len(LANGUAGES) * len(TONES)
HELD_OUT: Final = ("test", "valid")
HELD_OUT_ROUNDS: Final = 2
DRAWN: Final = 11  # replies of the model for every turn
THOUGHTS: Final = DISPLAYED + 1  # the most natural of them, which are kept
FEWEST: Final = 4  # thoughts; a dialogue ends where fewer are left


@dataclass(slots=True)
class Dialogue:
    """A dialogue while it is written. displayed, seeds: of every utterance, empty and 0 for the opening."""

    plan: Plan
    split: str
    tone: str
    domain: str
    utterances: list[LoggedUtterance]
    displayed: list[tuple[str, ...]] = field(default_factory=lambda: [()])
    seeds: list[int] = field(default_factory=lambda: [0])
    model_version: str = ""
    is_over: bool = False

    def request(self) -> ReplyRequest:
        """The model reads the thoughts without their tone, and so cannot know it."""
        context = tuple(
            Message("AB"[place % 2], utterance.thought) for place, utterance in enumerate(self.utterances)
        )
        place = len(context)
        seed = _seed(f"{self.plan.name}:{place}")
        return ReplyRequest(self.plan.name, context, "AB"[place % 2], seed, count=DRAWN)

    def add_turn(self, request: ReplyRequest, thoughts: Sequence[str], closed: AbstractSet[str]) -> None:
        random = Random(request.seed)
        utterance, displayed = answer(
            random.sample(thoughts, len(thoughts)), self.tone, random, closed=closed
        )
        self.utterances.append(utterance)
        self.displayed.append(displayed)
        self.seeds.append(request.seed)
        self.is_over = len(self.utterances) >= self.plan.length

    def texts(self) -> set[str]:
        """Keys of everything that was displayed or said."""
        displayed = {text for texts in self.displayed for text in texts}
        return {reply_key(text) for text in displayed | {utterance.text for utterance in self.utterances}}


def split_of(number: int) -> str:
    block = number // (ROUND * HELD_OUT_ROUNDS)
    return HELD_OUT[block] if block < len(HELD_OUT) else "train"


def write_log(numbers: Iterable[int], backend: Backend) -> list[Dialogue]:
    """The dialogues with these numbers, from 0. Raises BackendError if the model gives no replies.

    No text of one split is displayed or said in another: what the first has is closed to the others.
    """
    numbers = list(numbers)
    closed = {reply_key(text) for _, _, text in heldout_openings()}
    written: list[Dialogue] = []
    for split in (*HELD_OUT, "train"):
        dialogues = write_together(
            [number for number in numbers if split_of(number) == split], closed, backend
        )
        closed |= {key for dialogue in dialogues for key in dialogue.texts()}
        written += dialogues
    return written


def write_together(numbers: Sequence[int], closed: AbstractSet[str], backend: Backend) -> list[Dialogue]:
    """The dialogues with these numbers, without texts whose keys are closed."""
    dialogues = [begin_dialogue(number, closed) for number in numbers]
    while writing := [dialogue for dialogue in dialogues if not dialogue.is_over]:
        requests = [dialogue.request() for dialogue in writing]
        for dialogue, request, given in zip(writing, requests, backend.generate(requests), strict=True):
            if isinstance(given, BackendError):
                raise given
            dialogue.model_version = backend.version
            thoughts = _thoughts(given.replies, dialogue, closed)
            if len(thoughts) < FEWEST:
                dialogue.is_over = True
            else:
                dialogue.add_turn(request, thoughts, closed)
    return dialogues


def begin_dialogue(number: int, closed: AbstractSet[str]) -> Dialogue:
    """The dialogue with its opening: the languages alternate, and each goes through all tones."""
    language, tone = LANGUAGES[number % len(LANGUAGES)], TONES[number // len(LANGUAGES) % len(TONES)]
    name = f"scripted-{language}-{number // len(LANGUAGES) + 1:03}"
    plan = Plan(name, language, Random(name).choice(LENGTHS))
    for attempt in count():
        seed = f"{name}:{attempt}"
        text = utterance_after(plan, [seed]) or ""
        if not closed & {reply_key(text), reply_key(in_tone(text, tone))}:
            break
    opening = LoggedUtterance(in_tone(text, tone), text)
    return Dialogue(
        plan, split_of(number), tone, topic_domains(language)[topic_of(plan, seed).name], [opening]
    )


def _thoughts(replies: Sequence[Reply], dialogue: Dialogue, closed: AbstractSet[str]) -> list[str]:
    """The replies that the model gave most readily, without what may not be said here.

    That is what another split has, what this dialogue has heard, and leave-taking, which would end it.
    """
    phrases = material(dialogue.plan.language).phrases
    parting = [reply_key(line) for name in ("leaving", "goodbye", "last") for line in phrases[name]]
    heard = {reply_key(utterance.thought) for utterance in dialogue.utterances}
    ready = [
        reply.text
        for reply in sorted(replies, key=_reluctance)
        if (key := reply_key(reply.text)) not in heard
        and reply_key(in_tone(reply.text, dialogue.tone)) not in closed
        and not any(line in key for line in parting)
    ]
    return ready[:THOUGHTS]


def _reluctance(reply: Reply) -> tuple[bool, float]:
    """Drawn hotter than usual, because ordinary draws repeated each other; nats per token, with the end."""
    return reply.warmth > 1, mean_surprise(reply)


def _seed(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


def dialogue_row(dialogue: Dialogue) -> dict[str, Any]:
    """A dialogue as a row of the format `diamante`."""
    turns = enumerate(zip(dialogue.utterances, dialogue.displayed, dialogue.seeds, strict=True))
    return {
        "id": f"{dialogue.plan.name}-tone",
        "split": dialogue.split,
        "language": dialogue.plan.language,
        "domain": dialogue.domain,
        "scripted": True,
        "conversation": [_turn(place, *turn, dialogue.model_version) for place, turn in turns],
    }


def _turn(
    place: int, utterance: LoggedUtterance, displayed: tuple[str, ...], seed: int, model_version: str
) -> dict[str, Any]:
    turn: dict[str, Any] = {
        "utterance": utterance.text,
        "response_candidates": list(displayed),
        "speaker": "AB"[place % 2],
    }
    if displayed:
        turn |= {
            "action": utterance.action,
            "source": utterance.source,
            "edit_distance": utterance.edit_distance,
            "model_version": model_version,
            "candidate_seed": seed,
        }
    return turn
