"""Answering requests for candidates: claim a batch, decode it together, store each answer.

No transaction is open while the model runs. A worker that is killed holds its requests until their lease ends; one that
is only slow finds that it lost them when it wants to store.
"""

import json
import logging
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import close_old_connections, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from dialogues.models import CandidateSet
from generation.conversation import context_of_request, reply_request
from generation.models import BackendKind, CandidateRequest, Generator, Priority, RequestState
from generation.protocol import Backend, BackendError, Reply, ReplyRequest, ReplySet, load_backend
from generation.services import WAKE_KEY
from jobs import tasks as heartbeat

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=20)
RENEW_EVERY = 5.0  # seconds
# Somebody may begin to wait while an ahead batch runs, so it is kept small.
AHEAD_BATCH = 2

_backends: dict[str, Backend] = {}


def drain(worker: str) -> int:
    """Answer requests until none is queued; returns how many were taken."""
    try:
        cache.delete(WAKE_KEY)  # before looking: a request that comes now sends a wake-up of its own
    except RedisError:
        logger.warning("cache away; a wake-up may be missed and will be repeated by the scheduler")
    taken = 0
    while batch := claim_batch(worker):
        answer(batch)
        taken += len(batch)
    return taken


@transaction.atomic
def claim_batch(worker: str) -> list[CandidateRequest]:
    """Take queued requests that can be decoded together: those that somebody waits for first, oldest first."""
    queued = CandidateRequest.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        state=RequestState.QUEUED
    )
    first = queued.order_by("priority", "created_at").first()
    if first is None:
        return []
    limit = settings.GENERATION_BATCH if first.priority == Priority.NOW else AHEAD_BATCH
    alike = queued.filter(
        generator=first.generator_id, sampling=first.sampling, count=first.count, priority=first.priority
    )
    ids = list(alike.order_by("created_at").values_list("pk", flat=True)[:limit])
    now = timezone.now()
    CandidateRequest.objects.filter(pk__in=ids).update(
        state=RequestState.RUNNING,
        worker=worker,
        lease_until=now + LEASE,
        started_at=now,
        attempts=F("attempts") + 1,
    )
    return list(CandidateRequest.objects.filter(pk__in=ids).select_related("dialogue", "generator"))


def answer(batch: Sequence[CandidateRequest]) -> None:
    """Decode a claimed batch and store what came of each request."""
    asked: list[tuple[CandidateRequest, ReplyRequest]] = []
    for request in batch:
        context = context_of_request(request)
        if context is None:
            _end(request, state=RequestState.CANCELLED)
        else:
            asked.append((request, reply_request(request, context)))
    if asked:
        with _leases_kept(batch):
            version, answers = _generate(asked[0][0].generator, [one for _request, one in asked])
        for (request, _one), made in zip(asked, answers, strict=True):
            _store(request, made, version)


def _generate(
    generator: Generator | None, asked: list[ReplyRequest]
) -> tuple[str, Sequence[ReplySet | BackendError]]:
    try:
        backend = backend_for(generator)
        return backend.version, backend.generate(asked)
    except BackendError as error:
        return "", [error] * len(asked)
    except Exception as error:
        logger.exception("the backend broke")
        broken = BackendError(f"{type(error).__name__}: {error}", _("Try again; see the log of the worker."))
        return "", [broken] * len(asked)


def backend_for(generator: Generator | None) -> Backend:
    """The loaded backend of a generator; kept for the life of the process, loaded anew when its options changed."""
    path = generator.backend if generator else BackendKind.HF.value
    options: dict[str, Any] = generator.options if generator else {"model": settings.GENERATION_MODEL}
    if path == BackendKind.HF and "model" not in options:
        options = {"model": settings.GENERATION_MODEL, **options}
    key = f"{path} {json.dumps(options, sort_keys=True)}"
    if key not in _backends:
        _backends[key] = load_backend(path, options)
        heartbeat.details["models"] = sorted(backend.version for backend in _backends.values())
    return _backends[key]


@contextmanager
def _leases_kept(batch: Sequence[CandidateRequest]) -> Iterator[None]:
    done = threading.Event()
    ids = [request.pk for request in batch]

    def keep() -> None:
        while not done.wait(RENEW_EVERY):
            mine = CandidateRequest.objects.filter(
                pk__in=ids, state=RequestState.RUNNING, worker=batch[0].worker
            )
            mine.update(lease_until=timezone.now() + LEASE)
        close_old_connections()

    thread = threading.Thread(target=keep, daemon=True, name="leases")
    thread.start()
    try:
        yield
    finally:
        done.set()


def _store(request: CandidateRequest, made: ReplySet | BackendError, version: str) -> None:
    if isinstance(made, BackendError):
        _end(request, state=RequestState.FAILED, error=made.cause, remedy=made.remedy)
    elif not made.replies:
        why = "; ".join(made.failures) or _("The model gave no usable reply.")
        _end(request, state=RequestState.FAILED, error=why, remedy=_("Try again, or write your own reply."))
    else:
        _store_replies(request, made, version)


@transaction.atomic
def _store_replies(request: CandidateRequest, made: ReplySet, version: str) -> None:
    shown = list(made.replies)
    random.Random(request.seed).shuffle(shown)
    candidates = CandidateSet.objects.create(
        dialogue=request.dialogue,
        position=request.position,
        candidates=[as_json(reply) for reply in shown],
        model_version=version,
        sampling=request.sampling,
        seed=request.seed,
    )
    if not _end(request, state=RequestState.DONE, candidate_set=candidates, failures=list(made.failures)):
        transaction.set_rollback(True)  # another worker took over; its answer is the one that counts


def as_json(reply: Reply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "seed": reply.seed,
        "tokens": reply.tokens,
        "logprob": reply.logprob,
        "score": reply.score,
    }


def _end(request: CandidateRequest, **changes: Any) -> bool:
    """Compare-and-set: only the attempt that holds the request may end it."""
    held = CandidateRequest.objects.filter(
        pk=request.pk, state=RequestState.RUNNING, worker=request.worker, attempts=request.attempts
    )
    return bool(held.update(ended_at=timezone.now(), lease_until=None, **changes))
