"""The dialogues of the log, written turn by turn: all of them at once, so that candidates are decoded together."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from generation.demo_model.corpus import LANGUAGES, heldout_openings
from generation.demo_model.corpus.reading import read_topics, topic_files
from generation.demo_model.demo_log.annotator import Said, say
from generation.demo_model.demo_log.thoughts import Plan, thoughts, topic_of
from generation.protocol import Backend, BackendError, Message, ReplyRequest

LENGTHS = (12, 14, 16)
THOUGHTS = 24
DOMAINS = {
    "daily": "daily life",
    "food_home": "food and home",
    "generic": "small talk",
    "leisure": "leisure",
    "people": "people",
    "work_study": "work and study",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """The candidates of a turn, as displayed. seed: the request's, from which they can be drawn again."""

    texts: tuple[str, ...]
    seed: int
    model_version: str


@dataclass(slots=True)
class Dialogue:
    """A dialogue while it is written."""

    plan: Plan
    said: list[Said] = field(default_factory=list)
    shown: list[Shown | None] = field(default_factory=list)
    is_over: bool = False

    def request(self) -> ReplyRequest:
        context = tuple(Message("AB"[place % 2], said.text) for place, said in enumerate(self.said))
        place = len(context)
        return ReplyRequest(self.plan.name, context, "AB"[place % 2], _seed(f"{self.plan.name}:{place}"))

    def go_on(self, shown: Shown | None) -> None:
        """Say something to what is shown, or end."""
        minded = thoughts(self.plan, [said.seed for said in self.said], THOUGHTS)
        if not minded:
            self.is_over = True
            return
        opening = Said(minded[0].text, minded[0].seed, "", None, None)
        self.said.append(say(minded, shown.texts, self.plan.language) if shown else opening)
        self.shown.append(shown)


def plan(number: int) -> Plan:
    """Of the dialogue with this number, from 0; the languages take turns."""
    language = LANGUAGES[number % len(LANGUAGES)]
    name = f"scripted-{language}-{number // len(LANGUAGES) + 1:03}"
    return Plan(name, language, Random(name).choice(LENGTHS))


def write_log(numbers: Sequence[int], backend: Backend) -> list[Dialogue]:
    """The dialogues with these numbers, without those that hold an opening kept for judging the model.

    Raises BackendError where the model gives no candidates.
    """
    dialogues = [Dialogue(plan(number)) for number in numbers]
    for dialogue in dialogues:
        dialogue.go_on(None)
    while writing := [dialogue for dialogue in dialogues if not dialogue.is_over]:
        for dialogue, shown in zip(writing, _candidates(writing, backend), strict=True):
            dialogue.go_on(shown)
    heldout = {text for _, _, text in heldout_openings()}
    return [one for one in dialogues if not heldout.intersection(said.text for said in one.said)]


def _candidates(dialogues: Sequence[Dialogue], backend: Backend) -> list[Shown]:
    requests = [dialogue.request() for dialogue in dialogues]
    made = []
    for request, answer in zip(requests, backend.generate(requests), strict=True):
        if isinstance(answer, BackendError):
            raise answer
        texts = [reply.text for reply in answer.replies]
        Random(request.seed).shuffle(texts)  # displayed in random order, as in the product
        made.append(Shown(tuple(texts), request.seed, backend.version))
    return made


def _seed(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


@cache
def _domains(language: str) -> dict[str, str]:
    """Of every topic, by the file in which it comes first."""
    found: dict[str, str] = {}
    for path in topic_files(language):
        for topic in read_topics(path):
            found.setdefault(topic.name, DOMAINS.get(path.stem, ""))
    return found


def row(dialogue: Dialogue) -> dict[str, Any]:
    """In the format `diamante`."""
    plan = dialogue.plan
    turns = zip(dialogue.said, dialogue.shown, strict=True)
    return {
        "id": plan.name,
        "language": plan.language,
        "domain": _domains(plan.language)[topic_of(plan, dialogue.said[0].seed).name],
        "scripted": True,
        "conversation": [_turn(place, said, shown) for place, (said, shown) in enumerate(turns)],
    }


def _turn(place: int, said: Said, shown: Shown | None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "utterance": said.text,
        "response_candidates": list(shown.texts) if shown else [],
        "speaker": "AB"[place % 2],
    }
    if shown:
        made |= {
            "action": said.action,
            "source": said.source,
            "edit_distance": said.edit_distance,
            "model_version": shown.model_version,
            "candidate_seed": shown.seed,
        }
    return made
