"""Renewing the leases of claimed requests while the model runs, and ending a worker whose model hangs."""

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic

from django.db import DatabaseError, connections
from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from common import clock
from generation.models import CandidateRequest, RequestState

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=10)
RENEW_EVERY = 2.0  # seconds
HUNG = gettext_noop("The model did not answer within its time limit.")
HUNG_REMEDY = gettext_noop(
    "Try again; if it happens again, tell whoever runs the server to look at the worker's log, or to raise "
    "GENERATION_TIMEOUT."
)


def leased_requests(batch: Sequence[CandidateRequest]) -> QuerySet[CandidateRequest]:
    """The requests of a batch that its worker still holds; those that another worker took over have its name."""
    running = CandidateRequest.objects.filter(state=RequestState.RUNNING, worker=batch[0].worker)
    return running.filter(pk__in=[request.pk for request in batch])


@contextmanager
def renew_leases(batch: Sequence[CandidateRequest], *, limit: float) -> Iterator[None]:
    """Renew the leases of a claimed batch from a thread while the block runs.

    A block that takes longer than `limit` seconds counts as hung. Nothing inside the process can stop it, so its
    requests fail and the process exits; the supervisor starts it again.
    """
    finished = threading.Event()
    thread = threading.Thread(
        target=_renew_until_done, args=[batch, finished, limit], daemon=True, name="leases"
    )
    thread.start()
    try:
        yield
    finally:
        finished.set()


def _renew_until_done(batch: Sequence[CandidateRequest], finished: threading.Event, limit: float) -> None:
    deadline = monotonic() + limit
    while not finished.wait(max(0.0, min(RENEW_EVERY, deadline - monotonic()))):
        try:
            if monotonic() >= deadline:
                _give_up(batch)
            leased_requests(batch).update(lease_until=clock.now() + LEASE)
        except DatabaseError:
            logger.warning("leases could not be renewed", exc_info=True)
        finally:
            connections.close_all()  # this thread's own


def _give_up(batch: Sequence[CandidateRequest]) -> None:
    logger.critical("the model hangs; the worker ends", extra={"requests": [str(one.pk) for one in batch]})
    try:
        leased_requests(batch).update(
            state=RequestState.FAILED,
            error=HUNG,
            remedy=HUNG_REMEDY,
            ended_at=clock.now(),
            lease_until=None,
        )
    finally:
        os._exit(os.EX_SOFTWARE)
