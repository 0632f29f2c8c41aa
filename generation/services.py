"""Requesting candidates; generation/worker.py answers."""

import logging
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from common import clock
from common.refusals import Refusal
from dialogues.models import Dialogue
from generation.conversation import Context, context_of, hash_of
from generation.models import MOVES, CandidateOrder, CandidateRequest, Generator, Priority, RequestState
from generation.protocol import Sampling
from generation.selectors import QUEUE, worker_with_context
from jobs.broker import send_task
from projects.transitions import move

MAX_AHEAD_PER_TURN = 4
MAX_SEED = 2**31 - 1
MAX_ATTEMPTS = 3
NUDGE_AFTER = timedelta(seconds=2)
# About what encoding a long context again takes: waiting longer for the worker that has it would gain nothing.
PREFER_FOR = timedelta(milliseconds=300)
# Set while a wake-up is on its way; the worker removes it before it reads the queue. It expires in case the message was
# lost.
WAKE_KEY = "generation:woken"
_WAKE_FOR = 5  # seconds
# Without a live worker the scheduler keeps sending wake-ups; they expire, so that they do not pile up.
_FORGOTTEN_AFTER = 300  # seconds
# Stored in English; `selectors.describe_request` translates them for the reader.
LOST = gettext_noop("The worker stopped unexpectedly several times while it generated these candidates.")
LOST_REMEDY = gettext_noop(
    "Try again; if it happens again, tell whoever runs the server to look at the worker's log."
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """Which candidates to generate: the model (None: the server's own), how many, how they are drawn and shown.

    second: another model that writes half of them. one_script: only letters of the dialogue's script. persona:
    sentences about who replies.
    """

    generator: Generator | None
    count: int
    sampling: Sampling
    second: Generator | None = None
    order: str = CandidateOrder.RANDOM
    shows_scores: bool = False
    one_script: bool = False
    persona: tuple[str, ...] = ()


@transaction.atomic
def request_candidates(
    *, dialogue: Dialogue, options: CandidateOptions, ordinal: int = 0
) -> CandidateRequest:
    """Request candidates for the turn after the stored utterances, which an annotator now waits for.

    Returns the existing request if there is one for these utterances, also one made ahead for a draft.
    """
    fields = _fields(context_of(dialogue), options)
    key, now = fields.pop("context_hash"), clock.now()
    locked = CandidateRequest.objects.select_related("candidate_set").select_for_update(of=("self",))
    request, created = locked.get_or_create(
        dialogue=dialogue,
        context_hash=key,
        ordinal=ordinal,
        defaults={**fields, **_preference(dialogue, options, now), "created_at": now, "wanted_at": now},
    )
    if not created:
        _mark_wanted(request)
    _cancel_ahead(dialogue, keep=key)
    if request.state == RequestState.QUEUED:
        transaction.on_commit(wake, robust=True)
    return request


def find_request(*, dialogue: Dialogue, options: CandidateOptions, ordinal: int) -> CandidateRequest | None:
    """The request that an annotator has made for the turn after the stored utterances, unless it was cancelled."""
    wanted = dialogue.candidate_requests.filter(wanted_at__isnull=False).exclude(state=RequestState.CANCELLED)
    key = _fields(context_of(dialogue), options)["context_hash"]
    return wanted.select_related("candidate_set").filter(context_hash=key, ordinal=ordinal).first()


def _fields(context: Context, options: CandidateOptions) -> dict[str, Any]:
    first, second = (generator.pk if generator else None for generator in (options.generator, options.second))
    return {
        "generator": options.generator,
        "second_generator": options.second,
        "context_hash": hash_of(
            context,
            models=(first, second),
            count=options.count,
            sampling=options.sampling,
            persona=options.persona,
            one_script=options.one_script,
        ),
        "persona": list(options.persona),
        "position": len(context),
        "count": options.count,
        "sampling": asdict(options.sampling),
        "order": options.order,
        "shows_scores": options.shows_scores,
        "one_script": options.one_script,
        "seed": secrets.randbelow(MAX_SEED),
    }


def _preference(dialogue: Dialogue, options: CandidateOptions, now: datetime) -> dict[str, Any]:
    """Leave the request to the worker that keeps the dialogue's encoded context, for a short while: it may be busy.

    Servers behind an address keep contexts themselves (backends/addresses.py).
    """
    worker = worker_with_context(dialogue, options.generator)
    return {"preferred_worker": worker, "preferred_until": now + PREFER_FOR} if worker else {}


def _mark_wanted(request: CandidateRequest) -> None:
    """Note that an annotator waits for this request; a draft that it was made for is now an utterance."""
    first_time = request.wanted_at is None
    if first_time:
        request.wanted_at, request.priority, request.draft = clock.now(), Priority.NOW, ""
        request.save(update_fields=["wanted_at", "priority", "draft"])
    # A failure that nobody has seen is retried without being asked.
    if request.state == RequestState.CANCELLED or (first_time and request.state == RequestState.FAILED):
        _queue_again(request)


def _queue_again(request: CandidateRequest) -> None:
    fresh: dict[str, Any] = {"attempts": 0, "error": "", "remedy": "", "not_before": None, "ended_at": None}
    move(request, to=RequestState.QUEUED, moves=MOVES, project=None, **fresh)


def _cancel_ahead(dialogue: Dialogue, *, keep: str) -> None:
    """Cancel what is queued for an earlier wording of the draft."""
    ahead = CandidateRequest.objects.filter(dialogue=dialogue, wanted_at=None, state=RequestState.QUEUED)
    ahead.exclude(context_hash=keep).update(state=RequestState.CANCELLED, ended_at=clock.now())


@transaction.atomic
def request_ahead(*, dialogue: Dialogue, options: CandidateOptions, draft: str) -> CandidateRequest | None:
    """Generate for a resting draft, at low priority. None if the turn has reached MAX_AHEAD_PER_TURN."""
    if not draft:
        return None
    fields, now = _fields(context_of(dialogue, draft), options), clock.now()
    key = fields["context_hash"]
    _cancel_ahead(dialogue, keep=key)
    locked = CandidateRequest.objects.select_for_update(of=("self",))
    request = locked.filter(dialogue=dialogue, context_hash=key, ordinal=0).first()
    idle = request is None or request.state == RequestState.CANCELLED
    if idle and _ahead_limit_reached(dialogue, fields["position"]):
        return None
    if request is None:
        fields |= _preference(dialogue, options, now)
        request = CandidateRequest.objects.create(
            dialogue=dialogue, draft=draft, priority=Priority.AHEAD, created_at=now, **fields
        )
    elif request.state == RequestState.CANCELLED:
        _queue_again(request)
    if request.state == RequestState.QUEUED:
        transaction.on_commit(wake, robust=True)
    return request


def _ahead_limit_reached(dialogue: Dialogue, position: int) -> bool:
    """Whether the turn has had its number of sets; those cancelled in the queue cost nothing and do not count."""
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
        raise Refusal("already_done", _("These candidates are already there."), _("Reload the page."))
    return request


def cancel_request(*, request: CandidateRequest) -> None:
    """Take a request out of the queue that nobody waits for any longer. One that is being answered goes on."""
    queued = CandidateRequest.objects.filter(pk=request.pk, state=RequestState.QUEUED)
    queued.update(state=RequestState.CANCELLED, ended_at=clock.now())


def wake(*, after: float = 0.0) -> None:
    """Tell a worker that something is queued. One message drains the queue, so none is sent while one is on its way.

    after: seconds until the worker should look; such a message is always sent. No request depends on the message: the
    scheduler checks the queue every few seconds.
    """
    if after or cache.add(WAKE_KEY, 1, _WAKE_FOR):
        send_task(
            "generation.tasks.generate_pending",
            queue=QUEUE,
            countdown=after or None,
            expires=_FORGOTTEN_AFTER,
        )


def preload_generator(generator_id: int | None) -> None:
    """Have a worker load a model before it is needed; None is the server's own.

    Only one of several workers does so. `selectors.workers_holding` says when the model is loaded.
    """
    send_task(
        "generation.tasks.preload_generator", args=(generator_id,), queue=QUEUE, expires=_FORGOTTEN_AFTER
    )


def wake_if_overdue(request: CandidateRequest) -> None:
    """Called while somebody waits: wake a worker for a request that nobody has taken for a while."""
    now = clock.now()
    if request.state == RequestState.QUEUED and request.wanted_at:
        if now - request.wanted_at > NUDGE_AFTER and (request.not_before is None or request.not_before < now):
            wake()
    elif request.state == RequestState.RUNNING and request.lease_until and request.lease_until < now:
        take_over_lost_requests()


def take_over_lost_requests() -> int:
    """Queue the requests of dead workers again and wake a worker if anything is queued; returns how many were lost."""
    taken = release_lost_requests(lease_until__lt=clock.now())
    if CandidateRequest.objects.filter(state=RequestState.QUEUED).exists():
        wake()
    return taken


def release_lost_requests(**lost_if: Any) -> int:
    """Return requests of lost workers to the queue, or fail those that were lost too often; returns how many."""
    lost = CandidateRequest.objects.filter(state=RequestState.RUNNING, **lost_if)
    failed = lost.filter(attempts__gte=MAX_ATTEMPTS).update(
        state=RequestState.FAILED,
        ended_at=clock.now(),
        lease_until=None,
        error=LOST,
        remedy=LOST_REMEDY,
    )
    return failed + lost.update(state=RequestState.QUEUED, worker="", lease_until=None)
