"""From a dialogue to what a backend is asked, and the hash by which a request is found again."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

from dialogues.models import Dialogue
from generation.models import CandidateRequest
from generation.protocol import Message, ReplyRequest, Sampling

SPEAKERS = ("A", "B")
Context = tuple[Message, ...]


def speaker_at(position: int) -> str:
    """Who writes the utterance at this position of an authored dialogue."""
    return SPEAKERS[position % 2]


def context_of(dialogue: Dialogue, draft: str = "") -> Context:
    """The stored utterances, oldest first, and the draft as the one that comes next."""
    rows = dialogue.utterances.order_by("position").values_list("speaker", "text")
    said = tuple(Message(speaker, text) for speaker, text in rows)
    return (*said, Message(speaker_at(len(said)), draft)) if draft else said


def context_of_request(request: CandidateRequest) -> Context | None:
    """What the request is about; None when the dialogue has changed under it (an undo), so that nobody needs it."""
    stored = request.position - 1 if request.draft else request.position
    said = context_of(request.dialogue)[:stored]
    if request.draft:
        said = (*said, Message(speaker_at(stored), request.draft))
    return said if is_about(request, said) else None


def is_about(request: CandidateRequest, context: Context) -> bool:
    """Whether these are the utterances that the request was made for."""
    sampling = Sampling(**request.sampling)
    models = (request.generator_id, request.second_generator_id)
    return hash_of(context, models=models, count=request.count, sampling=sampling) == request.context_hash


def hash_of(
    context: Sequence[Message], *, models: tuple[int | None, int | None], count: int, sampling: Sampling
) -> str:
    """SHA-256 over all that the candidates depend on, the seed left out. models: ids of the generators."""
    said = [[message.speaker, message.text] for message in context]
    first, second = models
    # Requests from before there were second models are found, too.
    asked = [first, count, asdict(sampling), said, *([] if second is None else [second])]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def reply_request(request: CandidateRequest, context: Context) -> ReplyRequest:
    return ReplyRequest(
        conversation=str(request.dialogue_id),
        context=context,
        speaker=speaker_at(request.position),
        seed=request.seed,
        count=request.count,
        sampling=Sampling(**request.sampling),
    )
