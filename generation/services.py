"""Asking for candidates. Who answers is generation/worker.py."""

import logging
import secrets
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from celery import current_app
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from common.refusals import Refusal
from dialogues.models import Dialogue
from generation.conversation import Context, context_of, hash_of
from generation.models import MOVES, CandidateOrder, CandidateRequest, Generator, Priority, RequestState
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
# While no worker lives the scheduler goes on waking; they must not pile up.
_FORGOTTEN_AFTER = 300  # seconds
# Stored in English; `describe` translates them for whoever reads.
LOST = gettext_noop("The worker was lost several times while it generated this.")
LOST_REMEDY = gettext_noop(
    "Try again; if it happens again, tell whoever runs the server to look at the worker's log."
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wish:
    """What candidates are asked for: the model (None: the server's own), how many, how they are drawn and shown.

    second: another model, which then writes half of them.
    """

    generator: Generator | None
    count: int
    sampling: Sampling
    second: Generator | None = None
    order: str = CandidateOrder.RANDOM
    shows_scores: bool = False


@transaction.atomic
def request_candidates(*, dialogue: Dialogue, wish: Wish, ordinal: int = 0) -> CandidateRequest:
    """Candidates for the turn after the stored utterances. Asking twice, or after an answered draft, finds
    the same request; it is then wanted now."""
    fields = _fields(context_of(dialogue), wish)
    key, now = fields.pop("context_hash"), timezone.now()
    locked = CandidateRequest.objects.select_related("candidate_set").select_for_update(of=("self",))
    request, created = locked.get_or_create(
        dialogue=dialogue,
        context_hash=key,
        ordinal=ordinal,
        defaults={**fields, "created_at": now, "wanted_at": now},
    )
    if not created:
        _want(request)
    _cancel_ahead(dialogue, keep=key)
    if request.state == RequestState.QUEUED:
        transaction.on_commit(wake, robust=True)
    return request


def _fields(context: Context, wish: Wish) -> dict[str, Any]:
    first, second = (one.pk if one else None for one in (wish.generator, wish.second))
    return {
        "generator": wish.generator,
        "second_generator": wish.second,
        "context_hash": hash_of(context, models=(first, second), count=wish.count, sampling=wish.sampling),
        "position": len(context),
        "count": wish.count,
        "sampling": asdict(wish.sampling),
        "order": wish.order,
        "shows_scores": wish.shows_scores,
        "seed": secrets.randbelow(MAX_SEED),
    }


def _want(request: CandidateRequest) -> None:
    """Raise a request made ahead: somebody waits for it now, and its draft has become an utterance."""
    first_time = request.wanted_at is None
    if first_time:
        request.wanted_at, request.priority, request.draft = timezone.now(), Priority.NOW, ""
        request.save(update_fields=["wanted_at", "priority", "draft"])
    # A failure that nobody has seen is tried again without being asked.
    if request.state == RequestState.CANCELLED or (first_time and request.state == RequestState.FAILED):
        _queue_again(request)


def _queue_again(request: CandidateRequest) -> None:
    fresh: dict[str, Any] = {"attempts": 0, "error": "", "remedy": "", "not_before": None, "ended_at": None}
    move(request, to=RequestState.QUEUED, moves=MOVES, project=None, **fresh)


def _cancel_ahead(dialogue: Dialogue, *, keep: str) -> None:
    """What was queued for an earlier wording of the draft is of no use any more."""
    ahead = CandidateRequest.objects.filter(dialogue=dialogue, wanted_at=None, state=RequestState.QUEUED)
    ahead.exclude(context_hash=keep).update(state=RequestState.CANCELLED, ended_at=timezone.now())


@transaction.atomic
def request_ahead(*, dialogue: Dialogue, wish: Wish, draft: str) -> CandidateRequest | None:
    """Generate for a resting draft, at low priority. None when the turn has had its share (MAX_AHEAD_PER_TURN)."""
    if not draft:
        return None
    fields = _fields(context_of(dialogue, draft), wish)
    key = fields["context_hash"]
    _cancel_ahead(dialogue, keep=key)
    locked = CandidateRequest.objects.select_for_update(of=("self",))
    request = locked.filter(dialogue=dialogue, context_hash=key, ordinal=0).first()
    idle = request is None or request.state == RequestState.CANCELLED
    if idle and _had_its_share(dialogue, fields["position"]):
        return None
    if request is None:
        request = CandidateRequest.objects.create(
            dialogue=dialogue, draft=draft, priority=Priority.AHEAD, **fields
        )
    elif request.state == RequestState.CANCELLED:
        _queue_again(request)
    if request.state == RequestState.QUEUED:
        transaction.on_commit(wake, robust=True)
    return request


def _had_its_share(dialogue: Dialogue, position: int) -> bool:
    """What was cancelled in the queue cost nothing and does not count."""
    ahead = CandidateRequest.objects.filter(dialogue=dialogue, position=position, wanted_at=None)
    return ahead.exclude(state=RequestState.CANCELLED, attempts=0).count() >= MAX_AHEAD_PER_TURN


@transaction.atomic
def retry_request(*, request: CandidateRequest) -> CandidateRequest:
    """Queue a failed request again. Safe to repeat."""
    request = CandidateRequest.objects.select_for_update(of=("self",)).get(pk=request.pk)
    if request.state in (RequestState.FAILED, RequestState.CANCELLED):
        _queue_again(request)
        transaction.on_commit(wake, robust=True)
    elif request.state == RequestState.DONE:
        raise Refusal("already_done", _("These candidates are there already."), _("Reload the page."))
    return request


def wake(*, after: float = 0.0) -> None:
    """Tell a worker that something is queued. One message drains the queue, so while one is under way none is sent.

    after: seconds until the worker is to look; such a message is always sent. A lost message, or a broker that is
    away, loses no request: the scheduler looks again every few seconds.
    """
    try:
        if after or cache.add(WAKE_KEY, 1, _WAKE_FOR):
            current_app.send_task(
                "generation.tasks.generate_pending",
                queue=QUEUE,
                retry=False,
                countdown=after or None,
                expires=_FORGOTTEN_AFTER,
            )
    except (RedisError, OperationalError, OSError) as error:
        logger.warning("the broker is away, the scheduler will wake a worker: %s", error)


def preload_generator(generator_id: int | None) -> None:
    """Have a worker load a model before somebody needs it; None is the server's own. With several workers one does,
    the others when they are asked. `selectors.workers_holding` says when it is there."""
    try:
        current_app.send_task(
            "generation.tasks.preload_generator",
            args=[generator_id],
            queue=QUEUE,
            retry=False,
            expires=_FORGOTTEN_AFTER,
        )
    except (RedisError, OperationalError, OSError) as error:
        logger.warning("the broker is away, the model loads when it is asked: %s", error)


def nudge(request: CandidateRequest) -> None:
    """Called while somebody waits: wake a worker for a request that nobody has taken for a while."""
    now = timezone.now()
    if request.state == RequestState.QUEUED and request.wanted_at:
        if now - request.wanted_at > NUDGE_AFTER and (request.not_before is None or request.not_before < now):
            wake()
    elif request.state == RequestState.RUNNING and request.lease_until and request.lease_until < now:
        take_over_lost_requests()


def take_over_lost_requests() -> int:
    """Queue again what a dead worker held, and wake a worker if anything is queued. Returns how many were lost."""
    taken = give_up_leases(lease_until__lt=timezone.now())
    if CandidateRequest.objects.filter(state=RequestState.QUEUED).exists():
        wake()
    return taken


def give_up_leases(**lost_if: Any) -> int:
    """Running requests of workers that are gone: back to the queue, or failed when they were lost too often."""
    lost = CandidateRequest.objects.filter(state=RequestState.RUNNING, **lost_if)
    failed = lost.filter(attempts__gte=MAX_ATTEMPTS).update(
        state=RequestState.FAILED,
        ended_at=timezone.now(),
        lease_until=None,
        error=LOST,
        remedy=LOST_REMEDY,
    )
    return failed + lost.update(state=RequestState.QUEUED, worker="", lease_until=None)
