"""Dialogues and candidate requests, created as the services of `annotation` create them."""

from typing import Any

import redis
from django.conf import settings

from dialogues.models import Dialogue, DialogueState, Origin, Split, Utterance
from generation import services
from generation.conversation import speaker_at
from generation.models import BackendKind, CandidateRequest, Generator, RequestState
from generation.protocol import Sampling
from generation.services import CandidateOptions
from projects.models import Project
from tests.processes import wait_until

ENDED = (RequestState.DONE, RequestState.FAILED, RequestState.CANCELLED)


def create_dialogue(project: Project, *texts: str) -> Dialogue:
    dialogue = Dialogue.objects.create(
        project=project, origin=Origin.AUTHORED, state=DialogueState.WRITING, split=Split.TRAIN
    )
    append_utterances(dialogue, *texts)
    return dialogue


def append_utterances(dialogue: Dialogue, *texts: str) -> None:
    for text in texts:
        position = dialogue.utterance_count
        Utterance.objects.create(
            dialogue=dialogue, position=position, speaker=speaker_at(position), text=text
        )
        dialogue.utterance_count = position + 1
        dialogue.save()


def remove_last_utterance(dialogue: Dialogue) -> None:
    dialogue.utterance_count -= 1
    dialogue.save()
    dialogue.utterances.filter(position=dialogue.utterance_count).delete()


def create_generator(
    slug: str = "scripted", backend: str = BackendKind.SCRIPTED, **options: Any
) -> Generator:
    generator, _created = Generator.objects.update_or_create(
        slug=slug, defaults={"backend": backend, "options": options}
    )
    return generator


def create_request(dialogue: Dialogue, generator: Generator | None = None, **more: Any) -> CandidateRequest:
    ordinal = more.pop("ordinal", 0)
    return services.request_candidates(
        dialogue=dialogue, options=candidate_options(generator, **more), ordinal=ordinal
    )


def candidate_options(generator: Generator | None = None, **more: Any) -> CandidateOptions:
    return CandidateOptions(
        **{"generator": generator or create_generator(), "count": 7, "sampling": Sampling(), **more}
    )


def create_request_ahead(
    dialogue: Dialogue, draft: str, generator: Generator | None = None
) -> CandidateRequest | None:
    return services.request_ahead(dialogue=dialogue, options=candidate_options(generator), draft=draft)


def state_of(request: CandidateRequest) -> str:
    request.refresh_from_db()
    return request.state


def wait_for_state(request: CandidateRequest, *states: str, seconds: float = 30) -> CandidateRequest:
    """Poll until the request is in one of the states, by default an ended one."""
    expected = states or ENDED
    wait_until(lambda: state_of(request) in expected, seconds, f"{request} ({' or '.join(expected)})")
    return request


def count_waiting_messages(queue: str = "gpu") -> int:
    """The messages that no worker has taken from the broker; in `gpu` these are wake-ups."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return int(client.llen(queue))


def flush_redis() -> None:
    """Empty the broker and the cache, as when a Redis without a file is killed."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
