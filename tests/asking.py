"""Dialogues and requests for candidates, made as the services of `annotation` make them."""

from collections.abc import Callable
from typing import Any

import redis
from django.conf import settings

from dialogues.models import Dialogue, DialogueState, Origin, Split, Utterance
from generation import services
from generation.conversation import speaker_at
from generation.models import BackendKind, CandidateRequest, Generator, RequestState
from generation.protocol import Sampling
from generation.services import Wish
from projects.models import Project
from tests.processes import wait_until

ENDED = (RequestState.DONE, RequestState.FAILED, RequestState.CANCELLED)


def dialogue_in(project: Project, *texts: str) -> Dialogue:
    made = Dialogue.objects.create(
        project=project, origin=Origin.AUTHORED, state=DialogueState.WRITING, split=Split.TRAIN
    )
    say(made, *texts)
    return made


def say(dialogue: Dialogue, *texts: str) -> None:
    """Append utterances."""
    for text in texts:
        position = dialogue.utterance_count
        Utterance.objects.create(
            dialogue=dialogue, position=position, speaker=speaker_at(position), text=text
        )
        dialogue.utterance_count = position + 1
        dialogue.save()


def unsay(dialogue: Dialogue) -> None:
    """Take the last utterance back."""
    dialogue.utterance_count -= 1
    dialogue.save()
    dialogue.utterances.filter(position=dialogue.utterance_count).delete()


def scripted(slug: str = "scripted", backend: str = BackendKind.SCRIPTED, **options: Any) -> Generator:
    made, _ = Generator.objects.update_or_create(slug=slug, defaults={"backend": backend, "options": options})
    return made


def ask(dialogue: Dialogue, generator: Generator | None = None, **more: Any) -> CandidateRequest:
    ordinal = more.pop("ordinal", 0)
    return services.request_candidates(dialogue=dialogue, wish=wish(generator, **more), ordinal=ordinal)


def wish(generator: Generator | None = None, **more: Any) -> Wish:
    return Wish(**{"generator": generator or scripted(), "count": 7, "sampling": Sampling(), **more})


def ask_ahead(dialogue: Dialogue, draft: str, generator: Generator | None = None) -> CandidateRequest | None:
    return services.request_ahead(dialogue=dialogue, wish=wish(generator), draft=draft)


def state_of(request: CandidateRequest) -> str:
    request.refresh_from_db()
    return request.state


def wait_for(request: CandidateRequest, *states: str, seconds: float = 30) -> CandidateRequest:
    """Poll until the request is in one of the states, by default an ended one."""
    wanted: Callable[[], bool] = lambda: state_of(request) in (states or ENDED)  # noqa: E731
    wait_until(wanted, seconds, f"{request} ({' or '.join(states or ENDED)})")
    return request


def waiting_messages(queue: str = "gpu") -> int:
    """What no worker has taken from the broker; in `gpu` these are wake-ups."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return int(client.llen(queue))


def forget_messages() -> None:
    """What the broker and the cache know is lost, as by a Redis that was killed and keeps no file."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
