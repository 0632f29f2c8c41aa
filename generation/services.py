"""Asking for candidates. Who answers is generation/worker.py."""

import logging
import secrets
from dataclasses import asdict
from datetime import timedelta

from celery import current_app
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from accounts.errors import Refusal
from dialogues.models import Dialogue
from generation.conversation import context_of, hash_of
from generation.models import MOVES, CandidateRequest, Generator, Priority, RequestState
from generation.protocol import Sampling
from generation.selectors import QUEUE
from projects.transitions import move

MAX_AHEAD_PER_TURN = 4
MAX_SEED = 2**31 - 1
MAX_ATTEMPTS = 3
NUDGE_AFTER = timedelta(seconds=2)
# Set while a wake-up is under way; the worker removes it before it looks into the queue. It ends by itself, in case the
# message was lost.
WAKE_KEY = "generation:woken"
_WAKE_FOR = 5  # seconds

logger = logging.getLogger(__name__)


@transaction.atomic
def request_candidates(
    *, dialogue: Dialogue, generator: Generator | None, count: int, sampling: Sampling, ordinal: int = 0
) -> CandidateRequest:
    """Candidates for the turn after the stored utterances. Asking twice, or after an answered draft, finds
    the same request; it is then wanted now."""
    context = context_of(dialogue)
    request, created = CandidateRequest.objects.select_related("candidate_set").get_or_create(
        dialogue=dialogue,
        context_hash=hash_of(context, generator=generator, count=count, sampling=sampling),
        ordinal=ordinal,
        defaults={
            "generator": generator,
            "position": len(context),
            "count": count,
            "sampling": asdict(sampling),
            "seed": secrets.randbelow(MAX_SEED),
            "wanted_at": timezone.now(),
        },
    )
    if not created:
        _want(request)
    if request.state == RequestState.QUEUED:
        wake_on_commit()
    return request


def _want(request: CandidateRequest) -> None:
    """Raise a request made ahead: somebody waits for it now, and its draft has become an utterance."""
    if request.wanted_at is None:
        request.wanted_at, request.priority, request.draft = timezone.now(), Priority.NOW, ""
        request.save(update_fields=["wanted_at", "priority", "draft"])
    if request.state == RequestState.CANCELLED:
        move(request, to=RequestState.QUEUED, moves=MOVES, project=None, attempts=0)


@transaction.atomic
def request_ahead(
    *, dialogue: Dialogue, generator: Generator | None, count: int, sampling: Sampling, draft: str
) -> CandidateRequest | None:
    """Generate for a resting draft, at low priority. None when the turn has had its share (MAX_AHEAD_PER_TURN)."""
    context = context_of(dialogue, draft)
    ahead = CandidateRequest.objects.filter(dialogue=dialogue, position=len(context), wanted_at=None)
    key = hash_of(context, generator=generator, count=count, sampling=sampling)
    known = CandidateRequest.objects.filter(dialogue=dialogue, context_hash=key, ordinal=0).first()
    ahead.filter(state=RequestState.QUEUED).exclude(context_hash=key).update(state=RequestState.CANCELLED)
    if known is not None:
        if known.state == RequestState.CANCELLED:
            move(known, to=RequestState.QUEUED, moves=MOVES, project=None, attempts=0)
            wake_on_commit()
        return known
    if ahead.count() >= MAX_AHEAD_PER_TURN:
        return None
    wake_on_commit()
    return CandidateRequest.objects.create(
        dialogue=dialogue,
        generator=generator,
        context_hash=key,
        position=len(context),
        draft=draft,
        count=count,
        sampling=asdict(sampling),
        seed=secrets.randbelow(MAX_SEED),
        priority=Priority.AHEAD,
    )


@transaction.atomic
def retry_request(*, request: CandidateRequest) -> CandidateRequest:
    """Queue a failed request again. Safe to repeat."""
    if request.state in (RequestState.FAILED, RequestState.CANCELLED):
        move(
            request,
            to=RequestState.QUEUED,
            moves=MOVES,
            project=None,
            attempts=0,
            error="",
            remedy="",
            ended_at=None,
        )
        wake_on_commit()
    elif request.state == RequestState.DONE:
        raise Refusal("already_done", _("These candidates are there already."), _("Reload the page."))
    return request


def wake_on_commit() -> None:
    transaction.on_commit(wake)


def wake() -> None:
    """Tell a worker that something is queued. One message drains the queue, so while one is under way none is sent.

    A lost message, or a broker that is away, loses no request: the scheduler looks again every few seconds.
    """
    try:
        if cache.add(WAKE_KEY, 1, _WAKE_FOR):
            current_app.send_task("generation.tasks.generate_pending", queue=QUEUE, retry=False)
    except (RedisError, OperationalError):
        logger.warning("the broker is away; the scheduler will wake a worker", exc_info=True)


def nudge(request: CandidateRequest) -> None:
    """Called while somebody waits: wake a worker for a request that nobody has taken for a while."""
    if request.state == RequestState.QUEUED and request.wanted_at:
        if timezone.now() - request.wanted_at > NUDGE_AFTER:
            wake()
    elif (
        request.state == RequestState.RUNNING and request.lease_until and request.lease_until < timezone.now()
    ):
        take_over_lost_requests()


def take_over_lost_requests() -> int:
    """Queue again what a dead worker held, and wake a worker if anything is queued. Returns how many were lost."""
    now = timezone.now()
    lost = CandidateRequest.objects.filter(state=RequestState.RUNNING, lease_until__lt=now)
    failed = lost.filter(attempts__gte=MAX_ATTEMPTS).update(
        state=RequestState.FAILED,
        ended_at=now,
        error=_("The worker was lost %(n)d times while it generated this.") % {"n": MAX_ATTEMPTS},
        remedy=_("Try again; if it happens again, tell whoever runs the server to look at the worker's log."),
    )
    queued = lost.update(state=RequestState.QUEUED, worker="", lease_until=None)
    if CandidateRequest.objects.filter(state=RequestState.QUEUED).exists():
        wake()
    return failed + queued
