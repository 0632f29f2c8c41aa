"""Writing the dialogues of the log turn by turn, all at once, so that their candidates are decoded together."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from generation.demo_model.corpus import LANGUAGES, heldout_openings
from generation.demo_model.corpus.reading import read_topics, topic_files
from generation.demo_model.demo_log.annotator import LoggedUtterance, choose_utterance
from generation.demo_model.demo_log.thoughts import Plan, thoughts, topic_of
from generation.protocol import Backend, BackendError, Message, ReplyRequest

LENGTHS = (12, 14, 16)
THOUGHTS = 24  # drawn for every utterance
DOMAINS = {
    "daily": "daily life",
    "food_home": "food and home",
    "generic": "small talk",
    "leisure": "leisure",
    "people": "people",
    "work_study": "work and study",
}


@dataclass(frozen=True, slots=True)
class DisplayedCandidates:
    """The candidates of a turn, as displayed. seed: the request's, from which they can be drawn again."""

    texts: tuple[str, ...]
    seed: int
    model_version: str


@dataclass(slots=True)
class Dialogue:
    """A dialogue while it is written."""

    plan: Plan
    utterances: list[LoggedUtterance] = field(default_factory=list)
    displayed: list[DisplayedCandidates | None] = field(default_factory=list)
    is_over: bool = False

    def request(self) -> ReplyRequest:
        context = tuple(
            Message("AB"[place % 2], utterance.text) for place, utterance in enumerate(self.utterances)
        )
        place = len(context)
        return ReplyRequest(self.plan.name, context, "AB"[place % 2], _seed(f"{self.plan.name}:{place}"))

    def add_utterance(self, displayed: DisplayedCandidates | None) -> None:
        """Answer the displayed candidates (None at the opening), or end the dialogue."""
        possible = thoughts(self.plan, [utterance.seed for utterance in self.utterances], THOUGHTS)
        if not possible:
            self.is_over = True
            return
        opening = LoggedUtterance(possible[0].text, possible[0].seed, "", None, None)
        self.utterances.append(
            choose_utterance(possible, displayed.texts, self.plan.language) if displayed else opening
        )
        self.displayed.append(displayed)


def plan_dialogue(number: int) -> Plan:
    """The plan of a dialogue by its number, from 0; the languages alternate."""
    language = LANGUAGES[number % len(LANGUAGES)]
    name = f"scripted-{language}-{number // len(LANGUAGES) + 1:03}"
    return Plan(name, language, Random(name).choice(LENGTHS))


def write_log(numbers: Sequence[int], backend: Backend) -> list[Dialogue]:
    """The dialogues with these numbers, without those that contain a held-out opening.

    Raises BackendError if the model gives no candidates.
    """
    dialogues = [Dialogue(plan_dialogue(number)) for number in numbers]
    for dialogue in dialogues:
        dialogue.add_utterance(None)
    while writing := [dialogue for dialogue in dialogues if not dialogue.is_over]:
        for dialogue, displayed in zip(writing, _candidates(writing, backend), strict=True):
            dialogue.add_utterance(displayed)
    heldout = {text for _, _, text in heldout_openings()}
    return [
        dialogue
        for dialogue in dialogues
        if not heldout.intersection(each.text for each in dialogue.utterances)
    ]


def _candidates(dialogues: Sequence[Dialogue], backend: Backend) -> list[DisplayedCandidates]:
    requests = [dialogue.request() for dialogue in dialogues]
    displayed = []
    for request, answer in zip(requests, backend.generate(requests), strict=True):
        if isinstance(answer, BackendError):
            raise answer
        texts = [reply.text for reply in answer.replies]
        Random(request.seed).shuffle(texts)  # displayed in random order, as in the product
        displayed.append(DisplayedCandidates(tuple(texts), request.seed, backend.version))
    return displayed


def _seed(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


@cache
def topic_domains(language: str) -> dict[str, str]:
    """The domain of every topic, from the first file that has it."""
    domains: dict[str, str] = {}
    for path in topic_files(language):
        for topic in read_topics(path):
            domains.setdefault(topic.name, DOMAINS.get(path.stem, ""))
    return domains


def dialogue_row(dialogue: Dialogue) -> dict[str, Any]:
    """A dialogue as a row of the format `diamante`."""
    plan = dialogue.plan
    turns = zip(dialogue.utterances, dialogue.displayed, strict=True)
    return {
        "id": plan.name,
        "language": plan.language,
        "domain": topic_domains(plan.language)[topic_of(plan, dialogue.utterances[0].seed).name],
        "scripted": True,
        "conversation": [
            _turn(place, utterance, displayed) for place, (utterance, displayed) in enumerate(turns)
        ],
    }


def _turn(place: int, utterance: LoggedUtterance, displayed: DisplayedCandidates | None) -> dict[str, Any]:
    turn: dict[str, Any] = {
        "utterance": utterance.text,
        "response_candidates": list(displayed.texts) if displayed else [],
        "speaker": "AB"[place % 2],
    }
    if displayed:
        turn |= {
            "action": utterance.action,
            "source": utterance.source,
            "edit_distance": utterance.edit_distance,
            "model_version": displayed.model_version,
            "candidate_seed": displayed.seed,
        }
    return turn
