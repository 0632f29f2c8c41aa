"""The reply to an input: requested once, stored once."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from assessment.sessions.models.conversations import Turn, TurnState
from assessment.sessions.services.dispatch import send_turn
from assessment.setup.models import AssessmentSettings
from assessment.systems.connectors.protocol import SystemReply
from assessment.systems.selectors.identity import identity_words_in
from common import clock
from dialogues.models import Dialogue, Utterance

SPEAKER: Final = "B"


def request_reply(turn: Turn) -> None:
    """Ask the turn's system for its reply. Call it after the transaction that stored the turn. Safe to repeat.

    A broker that is away delays the reply, until `recovery` finds the turn.
    """
    send_turn(turn)


@transaction.atomic
def store_reply(*, turn: Turn, reply: SystemReply) -> bool:
    """Store the reply of a turn that the caller holds; the participant sees it from `visible_at` on.

    False if another worker has taken the turn over: its reply is the one that counts.
    """
    dialogue_id, now = turn.session.dialogue_id, clock.now()
    if dialogue_id is None:
        return False
    held = Turn.objects.filter(
        pk=turn.pk, state=TurnState.CALLING, worker=turn.worker, attempts=turn.attempts
    )
    if not held.update(
        state=TurnState.REPLIED,
        lease_until=None,
        replied_at=now,
        latency_ms=_latency_ms(turn, now),
        visible_at=max(now, turn.sent_at + equal_delay(_settings(turn), reply.text)),
        trace=_trace(turn, reply),
    ):
        return False
    position = 2 * turn.number - 1
    utterance = Utterance.objects.create(
        dialogue_id=dialogue_id, position=position, speaker=SPEAKER, text=reply.text
    )
    Turn.objects.filter(pk=turn.pk).update(reply=utterance)
    Dialogue.objects.filter(pk=dialogue_id).update(utterance_count=position + 1)
    return True


def equal_delay(settings: AssessmentSettings, text: str) -> timedelta:
    """The shortest time from an input to the reply `text`, the same for every system."""
    return timedelta(milliseconds=settings.delay_ms + settings.delay_per_character_ms * len(text))


def _settings(turn: Turn) -> AssessmentSettings:
    return turn.session.assignment.run.project.assessment


def _latency_ms(turn: Turn, now: datetime) -> int:
    return round((now - (turn.asked_at or turn.sent_at)).total_seconds() * 1000)


def _trace(turn: Turn, reply: SystemReply) -> dict[str, Any]:
    words = identity_words_in(turn.session.system, reply.text)
    return {**reply.trace, **({"identity_words": words} if words else {})}
