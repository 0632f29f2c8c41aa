"""Asking a system for the reply of a turn: claim it, call the system, store what came.

No transaction is open and no database connection is held while the system is asked. A worker that is killed holds its
turns until their lease ends; one that is only slow finds that it lost them when it wants to store.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import DatabaseError, connections
from django.db.models import F
from django.db.models.functions import Coalesce

from assessment.sessions.models.conversations import Session, Turn, TurnState
from assessment.sessions.services.failures import handle_failure
from assessment.sessions.services.replies import store_reply
from assessment.setup.models import AssessmentSettings
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.services.asking import ask, open_conversation
from common import clock
from common.database import release_connection, retry_on_lost_connection
from generation.backends.replies import child_seed
from generation.conversation import context_of
from generation.protocol import BackendError

LEASE: Final = timedelta(seconds=10)
RENEW_EVERY: Final = 3.0  # seconds
EARLY: Final = timedelta(milliseconds=200)  # of a message that comes before its time


def fetch_reply(*, turn_id: UUID, worker: str) -> None:
    """Have a waiting turn answered by its system. Does nothing if somebody else has it, or has answered it."""
    turn = retry_on_lost_connection(partial(claim_turn, turn_id, worker))
    if turn is None:
        return
    with LEASES.hold(turn):
        try:
            reply = _ask_system(turn)
        except BackendError as error:
            retry_on_lost_connection(partial(handle_failure, turn=turn, error=error))
        else:
            retry_on_lost_connection(partial(store_reply, turn=turn, reply=reply))


def claim_turn(turn_id: UUID, worker: str) -> Turn | None:
    """Take a waiting turn for this worker, by compare-and-set. None if it is not waiting, or not yet due."""
    now = clock.now()
    waiting = Turn.objects.filter(pk=turn_id, state=TurnState.WAITING).exclude(not_before__gt=now + EARLY)
    if not waiting.update(
        state=TurnState.CALLING,
        worker=worker,
        attempts=F("attempts") + 1,
        asked_at=Coalesce("asked_at", now),
        lease_until=now + LEASE,
        not_before=None,
    ):
        return None
    rows = Turn.objects.select_related(
        "session__system__generator", "session__dialogue", "session__assignment__run__project__assessment"
    )
    return rows.get(pk=turn_id)


def _ask_system(turn: Turn) -> SystemReply:
    session, settings = turn.session, _settings(turn)
    if session.dialogue is None:
        raise BackendError("The conversation has no texts.", "Start another one.")
    context = context_of(session.dialogue)
    conversation = Conversation(session.dialogue.pk, tuple(session.system.persona))
    deadline = time.monotonic() + settings.reply_timeout_seconds
    release_connection()
    handle = session.service_session or _open(session, conversation, deadline)
    failures = turn.attempts - turn.losses - 1
    # Another seed after a failure: the same one may give the same blank reply. A lost worker's reply was never seen.
    question = Question(conversation, context, child_seed(turn.seed, failures), deadline, handle)
    reply = ask(session.system, question)
    release_connection()
    return reply


def _settings(turn: Turn) -> AssessmentSettings:
    return turn.session.assignment.run.project.assessment


def _open(session: Session, conversation: Conversation, deadline: float) -> str:
    """Begin the conversation, and remember what the system calls it before anything is said in it."""
    handle = open_conversation(session.system, conversation, deadline)
    if handle:
        Session.objects.filter(pk=session.pk, service_session="").update(service_session=handle)
        release_connection()
    return handle


class _Leases:
    """Renews the leases of all turns that this process holds, from one thread."""

    def __init__(self) -> None:
        self._held: dict[UUID, Turn] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, turn: Turn) -> Iterator[None]:
        with self._lock:
            self._held[turn.pk] = turn
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._keep, daemon=True, name="turn leases")
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(turn.pk, None)

    def _keep(self) -> None:
        """Ends when nothing is held."""
        while True:
            time.sleep(RENEW_EVERY)
            with self._lock:
                turns = list(self._held.values())
                if not turns:
                    self._thread = None
                    return
            try:
                self._renew(turns)
            except DatabaseError:  # tried again before the lease ends
                pass
            finally:
                connections.close_all()  # this thread's own

    def _renew(self, turns: list[Turn]) -> None:
        held = Turn.objects.filter(state=TurnState.CALLING, worker=turns[0].worker)
        held.filter(pk__in=[turn.pk for turn in turns]).update(lease_until=clock.now() + LEASE)


LEASES: Final = _Leases()
