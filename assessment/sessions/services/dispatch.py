"""Sending a turn to whoever answers it: the generation's queue, or a worker of the queue `chat`."""

from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Now

from assessment.sessions.models.conversations import Turn, TurnState
from assessment.systems.models import Connector
from assessment.systems.services.asking import QUEUE
from common import clock
from generation.protocol import Sampling
from generation.services import CandidateOptions, request_candidates
from jobs.broker import send_task

# While no worker lives the scheduler goes on sending; the messages must not pile up.
_FORGOTTEN_AFTER: Final = 60  # seconds
GENERATION: Final = "generation"  # the worker of a turn that waits in the generation's queue


def send_turn(turn: Turn, *, after: float = 0.0) -> None:
    """Have a waiting turn answered, after some seconds. Safe to repeat: one worker claims it.

    A broker that is away loses nothing: the scheduler and the participant's page find the turn.
    """
    if turn.session.system.connector == Connector.GENERATOR and not after:
        request_candidate(turn)
        return
    send_task(
        "assessment.sessions.tasks.fetch_reply",
        args=(str(turn.pk),),
        queue=QUEUE,
        countdown=after or None,
        expires=_FORGOTTEN_AFTER + after,
    )


@transaction.atomic
def request_candidate(turn: Turn) -> None:
    """Put a waiting turn into the generation's queue, which decodes in batches and keeps encoded conversations."""
    session = turn.session
    waiting = Turn.objects.select_for_update(of=("self",), no_key=True)
    row = waiting.filter(pk=turn.pk, state=TurnState.WAITING).first()
    if row is None or session.dialogue is None:
        return
    system = session.system
    options = CandidateOptions(
        generator=system.generator,
        count=1,
        sampling=Sampling(**system.sampling),
        persona=tuple(system.persona),
    )
    limit = timedelta(seconds=session.assignment.run.project.assessment.reply_timeout_seconds)
    request = request_candidates(dialogue=session.dialogue, options=options, ordinal=row.attempts)
    Turn.objects.filter(pk=row.pk).update(
        state=TurnState.CALLING,
        request=request,
        worker=GENERATION,
        attempts=F("attempts") + 1,
        asked_at=Coalesce("asked_at", Now()),
        lease_until=clock.now() + limit,
        not_before=None,
    )
