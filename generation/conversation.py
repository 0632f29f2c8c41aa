"""Turning a dialogue into a request to a backend, and the hash that identifies such a request."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

from dialogues.models import Dialogue
from generation.models import CandidateRequest
from generation.protocol import Message, ReplyRequest, Sampling
from generation.scripts import allowed_scripts

SPEAKERS = ("A", "B")
SPARE = 11  # replies that a backend may draw on top, so that the best and most different ones are shown
Context = tuple[Message, ...]


def speaker_at(position: int) -> str:
    """Who writes the utterance at this position of an authored dialogue."""
    return SPEAKERS[position % 2]


def context_of(dialogue: Dialogue, draft: str = "") -> Context:
    """The stored utterances, oldest first, followed by the draft as the next one."""
    rows = dialogue.utterances.order_by("position").values_list("speaker", "text")
    messages = tuple(Message(speaker, text) for speaker, text in rows)
    return (*messages, Message(speaker_at(len(messages)), draft)) if draft else messages


def context_of_request(request: CandidateRequest) -> Context | None:
    """The utterances that the request continues; None if they have changed since (by an undo): nobody needs it then."""
    stored = request.position - 1 if request.draft else request.position
    messages = context_of(request.dialogue)[:stored]
    if request.draft:
        messages = (*messages, Message(speaker_at(stored), request.draft))
    return messages if matches_context(request, messages) else None


def matches_context(request: CandidateRequest, context: Context) -> bool:
    """Whether the request was made for exactly these utterances."""
    sampling = Sampling(**request.sampling)
    models = (request.generator_id, request.second_generator_id)
    requested = hash_of(
        context,
        models=models,
        count=request.count,
        sampling=sampling,
        persona=request.persona,
        one_script=request.one_script,
    )
    return requested == request.context_hash


def hash_of(
    context: Sequence[Message],
    *,
    models: tuple[int | None, int | None],
    count: int,
    sampling: Sampling,
    persona: Sequence[str] = (),
    one_script: bool = False,
) -> str:
    """SHA-256 of everything that the candidates depend on except the seed. models: ids of the generators."""
    messages = [[message.speaker, message.text] for message in context]
    first, second = models
    # Without a second model or a persona the hash equals that of requests stored before these existed.
    hashed = [first, count, asdict(sampling), messages, *([] if second is None else [second])]
    hashed += [{"persona": list(persona)}] if persona else []
    hashed += [{"one_script": True}] if one_script else []
    return hashlib.sha256(json.dumps(hashed).encode()).hexdigest()


def reply_request(request: CandidateRequest, context: Context) -> ReplyRequest:
    texts = (message.text for message in context)
    return ReplyRequest(
        conversation=str(request.dialogue_id),
        context=context,
        speaker=speaker_at(request.position),
        seed=request.seed,
        count=request.count,
        sampling=Sampling(**request.sampling),
        persona=tuple(request.persona),
        scripts=allowed_scripts(request.dialogue.language, texts) if request.one_script else (),
        spare=SPARE,
    )
