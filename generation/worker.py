"""Answering requests for candidates: claim a batch, decode it together, store each answer.

No transaction is open while the model runs. A worker that is killed holds its requests until their lease ends; one that
is only slow finds that it lost them when it wants to store.
"""

import logging
import math
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import DataError, IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_noop
from redis.exceptions import RedisError

from common.database import retry_on_lost_connection
from dialogues.models import CandidateSet
from generation.backends.replies import DistinctReplies, clean_reply
from generation.conversation import context_of_request, reply_request
from generation.leases import LEASE, kept
from generation.loaded import borrowed, version_of
from generation.mixing import CandidateResult, mixed
from generation.models import CandidateOrder, CandidateRequest, Generator, Priority, RequestState
from generation.protocol import BackendError, Reply, ReplyRequest, ReplySet
from generation.services import MAX_ATTEMPTS, WAKE_KEY, wake

logger = logging.getLogger(__name__)

# Somebody may begin to wait while an ahead batch runs, so it is kept small.
AHEAD_BATCH = 2
# After so many seconds the worker looks whether it is to stop, and then goes on.
DRAIN_SECONDS = 5.0
LOADING_LIMIT = 1800.0  # seconds; a large model from a slow disk
# What may pass is tried again this long after the request was made; longer, nobody believes in it.
RETRY_FOR = timedelta(seconds=30)
MAX_REPLY = 10_000  # characters
ODD_ANSWER = gettext_noop("The model's program answered in a shape that it must not have.")
BROKE = gettext_noop("The model's program broke off.")
SEE_LOG = gettext_noop(
    "Try again; if it happens again, tell whoever runs the server to look at the worker's log."
)
TOO_LONG = gettext_noop("The model wrote a reply that was far too long.")

Answer = CandidateResult | BackendError


def drain(worker: str) -> int:
    """Answer requests until none is queued; returns how many were taken."""
    try:
        cache.delete(WAKE_KEY)  # before looking: a request that comes now sends a wake-up of its own
    except RedisError:
        logger.warning("cache away; a wake-up may be missed and will be repeated by the scheduler")
    taken, enough = 0, time.monotonic() + DRAIN_SECONDS
    while batch := claim_batch(worker):
        if retry_on_lost_connection(CandidateRequest.objects.filter(_ready()).exists):
            wake()  # for another worker, if there is one
        answer(batch)
        taken += len(batch)
        if time.monotonic() > enough:
            wake()
            break
    return taken


def _ready() -> Q:
    return Q(state=RequestState.QUEUED) & (Q(not_before=None) | Q(not_before__lte=timezone.now()))


@transaction.atomic
def claim_batch(worker: str) -> list[CandidateRequest]:
    """Take queued requests that can be decoded together: those that somebody waits for first, oldest first."""
    queued = CandidateRequest.objects.select_for_update(skip_locked=True, of=("self",)).filter(_ready())
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
    now = timezone.now()
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


def answer(batch: Sequence[CandidateRequest]) -> None:
    """Decode a claimed batch and store what came of each request."""
    asked = [
        (request, wanted)
        for request in batch
        if (wanted := retry_on_lost_connection(partial(_asked, request)))
    ]
    if not asked:
        return
    answers = _generate(batch, [wanted for _request, wanted in asked])
    for (request, _wanted), made in zip(asked, answers, strict=True):
        _persist(request, made)


def _asked(request: CandidateRequest) -> ReplyRequest | None:
    """What to ask the backend; a request that cannot be put into words ends here, alone."""
    try:
        context = context_of_request(request)
        if context is not None:
            return reply_request(request, context)
        _end(request, state=RequestState.CANCELLED)
    except (TypeError, ValueError):
        logger.exception("a request that no model can be asked", extra={"request": str(request.pk)})
        _end(request, state=RequestState.FAILED, error=BROKE, remedy=SEE_LOG)
    return None


def _generate(batch: Sequence[CandidateRequest], asked: list[ReplyRequest]) -> Sequence[Answer]:
    """An answer for each, of one model or of two mixed."""
    first, second = batch[0].generator, batch[0].second_generator
    if second is not None:
        return mixed(asked, (partial(_ask, batch, first), partial(_ask, batch, second)))
    version, answers = _ask(batch, first, asked)
    return [
        CandidateResult(answer.replies, answer.failures, version) if isinstance(answer, ReplySet) else answer
        for answer in answers
    ]


def _ask(
    batch: Sequence[CandidateRequest], generator: Generator | None, asked: Sequence[ReplyRequest]
) -> tuple[str, Sequence[ReplySet | BackendError]]:
    """The version that answered, and an answer for each; whatever a backend does wrong becomes a BackendError."""
    try:
        with ExitStack() as in_use:
            with kept(batch, limit=LOADING_LIMIT):
                backend = in_use.enter_context(borrowed(generator))
            with kept(batch, limit=settings.GENERATION_TIMEOUT):
                answers = backend.generate(asked)
            if len(answers) != len(asked):
                raise BackendError(ODD_ANSWER, SEE_LOG)
            return version_of(backend), [_checked(*pair) for pair in zip(asked, answers, strict=True)]
    except BackendError as error:
        return "", [error] * len(asked)
    except Exception:
        logger.exception("the backend broke")
        return "", [BackendError(BROKE, SEE_LOG, retryable=True)] * len(asked)


def _checked(wanted: ReplyRequest, made: ReplySet | BackendError) -> ReplySet | BackendError:
    """What the database can hold and a page can show; a BackendError where nothing of it is."""
    if isinstance(made, BackendError):
        return made
    found = DistinctReplies(wanted.count)
    for reason in made.failures:
        found.fail(str(reason))
    for reply in made.replies:
        if len(reply.text) > MAX_REPLY:
            found.fail(TOO_LONG)
        else:
            found.offer(replace(reply, text=clean_reply(reply.text)))
    try:
        return found.result()
    except BackendError as error:
        return error


def _persist(request: CandidateRequest, made: Answer) -> None:
    """Store one answer; what goes wrong with one touches no other."""
    try:
        retry_on_lost_connection(partial(_store, request, made))
    except (DataError, IntegrityError):  # the dialogue was deleted, or the answer holds what no column takes
        logger.exception("an answer cannot be stored", extra={"request": str(request.pk)})
        _end(request, state=RequestState.FAILED, error=ODD_ANSWER, remedy=SEE_LOG)


def _store(request: CandidateRequest, made: Answer) -> None:
    if isinstance(made, CandidateResult):
        _store_replies(request, made)
    elif made.retryable and _may_try_again(request):
        _try_again(request)
    else:
        _end(request, state=RequestState.FAILED, error=made.cause, remedy=made.remedy)


@transaction.atomic
def _store_replies(request: CandidateRequest, made: CandidateResult) -> None:
    order, candidates = displayed(request, made)
    shown = CandidateSet.objects.create(
        dialogue=request.dialogue,
        position=request.position,
        candidates=candidates,
        model_version=made.version,
        sampling={**request.sampling, "order": order, **({"models": made.models} if made.models else {})},
        seed=request.seed,
    )
    if not _end(request, state=RequestState.DONE, candidate_set=shown, failures=list(made.failures)):
        transaction.set_rollback(True)  # another worker took over; its answer is the one that counts


def displayed(request: CandidateRequest, made: CandidateResult) -> tuple[str, list[dict[str, Any]]]:
    """The candidates in the order in which they are shown, and what that order is: best first needs all scores."""
    candidates = [as_json(reply) for reply in made.replies]
    for candidate, version in zip(candidates, made.versions, strict=bool(made.versions)):
        candidate["model_version"] = version
    random.Random(request.seed).shuffle(candidates)
    scored = not made.versions and all(candidate["score"] is not None for candidate in candidates)
    if request.order == CandidateOrder.RANDOM or not scored:
        return CandidateOrder.RANDOM.value, candidates
    return CandidateOrder.BEST.value, sorted(candidates, key=lambda candidate: -candidate["score"])


def as_json(reply: Reply) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(reply).items()
    }


def _may_try_again(request: CandidateRequest) -> bool:
    """Nobody waits for a set made ahead: it is tried again when somebody does."""
    request.refresh_from_db(fields=["wanted_at"])  # perhaps since it was claimed
    since = request.wanted_at
    return since is not None and request.attempts < MAX_ATTEMPTS and timezone.now() - since < RETRY_FOR


def _try_again(request: CandidateRequest) -> None:
    pause = 2.0 ** (request.attempts - 1)  # seconds: 1, 2
    not_before = timezone.now() + timedelta(seconds=pause)
    if _let_go(request, state=RequestState.QUEUED, worker="", not_before=not_before):
        wake(after=pause)


def _end(request: CandidateRequest, **changes: Any) -> bool:
    return _let_go(request, ended_at=timezone.now(), **changes)


def _let_go(request: CandidateRequest, **changes: Any) -> bool:
    """Compare-and-set: only the attempt that holds the request may end it."""
    held = CandidateRequest.objects.filter(
        pk=request.pk, state=RequestState.RUNNING, worker=request.worker, attempts=request.attempts
    )
    return bool(held.update(lease_until=None, **changes))
