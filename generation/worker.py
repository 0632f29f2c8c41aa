"""Answering requests for candidates: claim a batch, decode it together, store each answer.

No transaction is open while the model runs. The requests of a killed worker wait until their lease ends; a worker that
was only too slow learns when it stores that another one took over.
"""

import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import DataError, IntegrityError, transaction
from django.db.models import F, Q
from django.utils.translation import gettext_noop

from common import clock
from common.database import retry_on_lost_connection
from dialogues.models import CandidateSet
from generation.backends.choosing import choose_replies
from generation.backends.replies import DistinctReplies, clean_reply
from generation.conversation import context_of_request, reply_request
from generation.leases import LEASE, renew_leases
from generation.loaded import use_backend, version_of
from generation.mixing import CandidateResult, mix_candidates
from generation.models import CandidateOrder, CandidateRequest, Generator, Priority, RequestState
from generation.protocol import BackendError, Reply, ReplyRequest, ReplySet
from generation.services import MAX_ATTEMPTS, PREFER_FOR, WAKE_KEY, wake
from jobs.progress import worker_is_ending

logger = logging.getLogger(__name__)

# Called with a batch once its answers are stored; higher apps add theirs when they are ready.
AFTER_ANSWER: list[Callable[[Sequence[CandidateRequest]], None]] = []

# Small, because an annotator may start to wait while a batch made ahead of time runs.
AHEAD_BATCH = 2
# After this time the task ends and sends itself a new wake-up, so that the worker can stop in between.
DRAIN_SECONDS = 5.0  # seconds
LOOK_AGAIN = 0.03  # seconds between two looks at requests that are left to another worker
LOADING_LIMIT = 1800.0  # seconds; a large model from a slow disk
# Failures that may pass are retried until this long after an annotator began to wait.
RETRY_FOR = timedelta(seconds=30)
MAX_REPLY = 10_000  # characters
ODD_ANSWER = gettext_noop("The model's program gave an invalid answer.")
BROKE = gettext_noop("The model's program failed.")
SEE_LOG = gettext_noop(
    "Try again; if it happens again, tell whoever runs the server to look at the worker's log."
)
TOO_LONG = gettext_noop("The model wrote a reply that was far too long.")

Answer = CandidateResult | BackendError


def drain(worker: str) -> int:
    """Answer requests until none is queued or the worker is asked to end; returns how many were taken."""
    cache.delete(WAKE_KEY)  # before reading the queue: a request that arrives now sends its own wake-up
    if worker_is_ending.is_set():  # its consumer may get one more message
        wake()
        return 0
    taken, enough = 0, time.monotonic() + DRAIN_SECONDS
    while batch := claim_batch(worker) or _claim_from_others(worker):
        if retry_on_lost_connection(CandidateRequest.objects.filter(_ready()).exists):
            wake()  # for another worker, if one is running
        answer_batch(batch)
        taken += len(batch)
        if worker_is_ending.is_set() or time.monotonic() > enough:
            wake()
            break
    return taken


def _ready() -> Q:
    return Q(state=RequestState.QUEUED) & (Q(not_before=None) | Q(not_before__lte=clock.now()))


def _left_to_others(worker: str) -> Q:
    """Requests whose dialogue another worker keeps encoded; after a moment anybody may take them."""
    return Q(preferred_until__gt=clock.now()) & ~Q(preferred_worker=worker)


def _claim_from_others(worker: str) -> list[CandidateRequest]:
    """With nothing else to do, wait until the preferred workers have taken their requests, or take what they left."""
    left = CandidateRequest.objects.filter(_ready())
    until = time.monotonic() + PREFER_FOR.total_seconds()
    while time.monotonic() < until and left.filter(_left_to_others(worker)).exists():
        wake()  # the preferred worker, if it is idle
        time.sleep(LOOK_AGAIN)
        if batch := claim_batch(worker):
            return batch
    return claim_batch(worker)  # the preference may have ended since the last look


@transaction.atomic
def claim_batch(worker: str) -> list[CandidateRequest]:
    """Take queued requests that can be decoded together; those that an annotator waits for first, then the oldest."""
    queued = CandidateRequest.objects.select_for_update(skip_locked=True, of=("self",)).filter(_ready())
    queued = queued.exclude(_left_to_others(worker))
    first = queued.order_by("priority", "created_at").first()
    if first is None:
        return []
    limit = settings.GENERATION_BATCH if first.priority == Priority.NOW else AHEAD_BATCH
    alike = queued.filter(
        generator=first.generator_id,
        second_generator=first.second_generator_id,
        sampling=first.sampling,
        priority=first.priority,
    )
    ids = list(alike.order_by("created_at").values_list("pk", flat=True)[:limit])
    now = clock.now()
    CandidateRequest.objects.filter(pk__in=ids).update(
        state=RequestState.RUNNING,
        worker=worker,
        lease_until=now + LEASE,
        not_before=None,
        started_at=now,
        attempts=F("attempts") + 1,
    )
    return list(
        CandidateRequest.objects.filter(pk__in=ids).select_related(
            "dialogue", "generator", "second_generator"
        )
    )


def answer_batch(batch: Sequence[CandidateRequest]) -> None:
    """Decode a claimed batch and store the answer to each request."""
    claimed = [
        (request, request_to_model)
        for request in batch
        if (request_to_model := retry_on_lost_connection(partial(_build_request, request)))
    ]
    requests = [request_to_model for _request, request_to_model in claimed]
    answers = _generate(batch, requests) if requests else []
    for (request, wanted), answer in zip(claimed, answers, strict=True):
        _persist(request, answer, wanted.scripts)
    _report_answers(batch)


def _report_answers(batch: Sequence[CandidateRequest]) -> None:
    """A listener that fails costs nobody else their answer; whoever waits finds the request ended."""
    for listener in AFTER_ANSWER:
        try:
            listener(batch)
        except Exception:
            logger.exception("an answer could not be passed on")


def _build_request(request: CandidateRequest) -> ReplyRequest | None:
    """The request to the backend; None, after ending it, for one that is outdated or cannot be built."""
    try:
        context = context_of_request(request)
        if context is not None:
            return reply_request(request, context)
        _end(request, state=RequestState.CANCELLED)
    except (TypeError, ValueError):
        logger.exception("a request cannot be built", extra={"request": str(request.pk)})
        _end(request, state=RequestState.FAILED, error=BROKE, remedy=SEE_LOG)
    return None


def _generate(batch: Sequence[CandidateRequest], requests: list[ReplyRequest]) -> Sequence[Answer]:
    """An answer for each request, from one model or from two, mixed."""
    first, second = batch[0].generator, batch[0].second_generator
    if second is not None:
        return mix_candidates(
            requests, (partial(_call_backend, batch, first), partial(_call_backend, batch, second))
        )
    version, answers = _call_backend(batch, first, requests)
    return [
        CandidateResult(answer.replies, answer.failures, version) if isinstance(answer, ReplySet) else answer
        for answer in answers
    ]


def _call_backend(
    batch: Sequence[CandidateRequest], generator: Generator | None, requests: Sequence[ReplyRequest]
) -> tuple[str, Sequence[ReplySet | BackendError]]:
    """The backend's version, and an answer for each request; anything that goes wrong becomes a BackendError."""
    try:
        with ExitStack() as in_use:
            with renew_leases(batch, limit=LOADING_LIMIT):
                backend = in_use.enter_context(use_backend(generator))
            with renew_leases(batch, limit=settings.GENERATION_TIMEOUT):
                answers = backend.generate(requests)
            if len(answers) != len(requests):
                raise BackendError(ODD_ANSWER, SEE_LOG)
            return version_of(backend), [
                _validate_answer(*pair) for pair in zip(requests, answers, strict=True)
            ]
    except BackendError as error:
        return "", [error] * len(requests)
    except Exception:
        logger.exception("the backend failed")
        return "", [BackendError(BROKE, SEE_LOG, retryable=True)] * len(requests)


def _validate_answer(request: ReplyRequest, answer: ReplySet | BackendError) -> ReplySet | BackendError:
    """The replies that people are offered; a BackendError if the database can hold none of them."""
    if isinstance(answer, BackendError):
        return answer
    distinct = DistinctReplies(request.count, request.spare)
    for reason in answer.failures:
        distinct.fail(str(reason))
    for reply in answer.replies:
        if len(reply.text) > MAX_REPLY:
            distinct.fail(TOO_LONG)
        else:
            distinct.offer(replace(reply, text=clean_reply(reply.text)))
    try:
        return choose_replies(request, distinct.result())
    except BackendError as error:
        return error


def _persist(request: CandidateRequest, answer: Answer, scripts: Sequence[str]) -> None:
    """Store one answer; an error here does not affect the other answers of the batch."""
    try:
        retry_on_lost_connection(partial(_store, request, answer, scripts))
    except (DataError, IntegrityError):  # the dialogue was deleted, or a column cannot hold the answer
        logger.exception("an answer cannot be stored", extra={"request": str(request.pk)})
        _end(request, state=RequestState.FAILED, error=ODD_ANSWER, remedy=SEE_LOG)


def _store(request: CandidateRequest, answer: Answer, scripts: Sequence[str]) -> None:
    if isinstance(answer, CandidateResult):
        _store_replies(request, answer, {"scripts": list(scripts)} if scripts else {})
    elif answer.retryable and _may_requeue(request):
        _requeue(request)
    else:
        _end(request, state=RequestState.FAILED, error=answer.cause, remedy=answer.remedy)


@transaction.atomic
def _store_replies(request: CandidateRequest, result: CandidateResult, limits: dict[str, Any]) -> None:
    """limits: what kept the model from drawing freely, beside the request's sampling."""
    order, candidates = arrange_candidates(request, result)
    candidate_set = CandidateSet.objects.create(
        dialogue=request.dialogue,
        position=request.position,
        candidates=candidates,
        model_version=result.version,
        sampling={
            **request.sampling,
            **limits,
            "order": order,
            **({"models": result.models} if result.models else {}),
        },
        seed=request.seed,
    )
    if not _end(
        request, state=RequestState.DONE, candidate_set=candidate_set, failures=list(result.failures)
    ):
        transaction.set_rollback(True)  # another worker took over, and its answer counts


def arrange_candidates(
    request: CandidateRequest, result: CandidateResult
) -> tuple[str, list[dict[str, Any]]]:
    """The name of the displayed order, and the candidates in it; best first needs a score for every candidate."""
    candidates = [reply_as_json(reply) for reply in result.replies]
    for candidate, version in zip(candidates, result.versions, strict=bool(result.versions)):
        candidate["model_version"] = version
    random.Random(request.seed).shuffle(candidates)
    scored = not result.versions and all(candidate["score"] is not None for candidate in candidates)
    if request.order == CandidateOrder.RANDOM or not scored:
        return CandidateOrder.RANDOM.value, candidates
    return CandidateOrder.BEST.value, sorted(candidates, key=lambda candidate: -candidate["score"])


def reply_as_json(reply: Reply) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(reply).items()
    }


def _may_requeue(request: CandidateRequest) -> bool:
    """Whether to retry: only if an annotator waits, since a set made ahead is retried when somebody wants it."""
    request.refresh_from_db(fields=["wanted_at"])  # an annotator may have started to wait since the claim
    since = request.wanted_at
    return since is not None and request.attempts < MAX_ATTEMPTS and clock.now() - since < RETRY_FOR


def _requeue(request: CandidateRequest) -> None:
    pause = 2.0 ** (request.attempts - 1)  # seconds: 1, 2
    not_before = clock.now() + timedelta(seconds=pause)
    if _release(request, state=RequestState.QUEUED, worker="", not_before=not_before):
        wake(after=pause)


def _end(request: CandidateRequest, **changes: Any) -> bool:
    return _release(request, ended_at=clock.now(), **changes)


def _release(request: CandidateRequest, **changes: Any) -> bool:
    """End this attempt at the request. Compare-and-set: False if another worker has taken it over."""
    own_request = CandidateRequest.objects.filter(
        pk=request.pk, state=RequestState.RUNNING, worker=request.worker, attempts=request.attempts
    )
    return bool(own_request.update(lease_until=None, **changes))
