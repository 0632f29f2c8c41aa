"""From a dialogue to what a backend is asked, and the hash by which a request is found again."""

import hashlib
import json
from dataclasses import asdict

from dialogues.models import Dialogue
from generation.models import CandidateRequest, Generator
from generation.protocol import Message, ReplyRequest, Sampling

SPEAKERS = ("A", "B")


def speaker_at(position: int) -> str:
    """Who writes the utterance at this position of an authored dialogue."""
    return SPEAKERS[position % 2]


def context_of(dialogue: Dialogue, draft: str = "") -> tuple[Message, ...]:
    """The stored utterances, oldest first, and the draft as the one that comes next."""
    rows = dialogue.utterances.order_by("position").values_list("speaker", "text")
    said = tuple(Message(speaker, text) for speaker, text in rows)
    return (*said, Message(speaker_at(len(said)), draft)) if draft else said


def context_of_request(request: CandidateRequest) -> tuple[Message, ...] | None:
    """What the request is about; None when the dialogue has changed under it (an undo), so that nobody needs it."""
    stored = request.position - 1 if request.draft else request.position
    rows = request.dialogue.utterances.filter(position__lt=stored).order_by("position")
    said = tuple(Message(speaker, text) for speaker, text in rows.values_list("speaker", "text"))
    if request.draft:
        said = (*said, Message(speaker_at(stored), request.draft))
    known = hash_of(
        said, generator=request.generator, count=request.count, sampling=Sampling(**request.sampling)
    )
    return said if known == request.context_hash else None


def hash_of(
    context: tuple[Message, ...], *, generator: Generator | None, count: int, sampling: Sampling
) -> str:
    """SHA-256 over all that the candidates depend on, the seed left out."""
    said = [[message.speaker, message.text] for message in context]
    asked = [generator.pk if generator else None, count, asdict(sampling), said]
    return hashlib.sha256(json.dumps(asked, ensure_ascii=False).encode()).hexdigest()


def reply_request(request: CandidateRequest, context: tuple[Message, ...]) -> ReplyRequest:
    return ReplyRequest(
        conversation=str(request.dialogue_id),
        context=context,
        speaker=speaker_at(request.position),
        seed=request.seed,
        count=request.count,
        sampling=Sampling(**request.sampling),
    )
