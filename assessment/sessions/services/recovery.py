"""Turns that nobody answers: their message or their worker was lost, or their time is over."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import F, Q, QuerySet

from assessment.sessions.models.conversations import Turn, TurnState
from assessment.sessions.selectors.turns import ENDED, MESSAGE_LEASE
from assessment.sessions.services.dispatch import GENERATION, send_turn
from assessment.sessions.services.failures import handle_failure
from assessment.sessions.services.generated import collect_answer
from common import clock
from generation.models import RequestState
from generation.protocol import BackendError
from generation.services import cancel_request, wake_if_overdue

AT_ONCE: Final = 500
MAX_LOSSES: Final = 5
# Beyond the time limits of all tries: messages, pauses and lost workers take a while, too.
SLACK: Final = timedelta(seconds=30)
UNANSWERED: Final = (TurnState.WAITING, TurnState.CALLING)


def take_over_lost_turns() -> int:
    """Have turns answered whose message or worker was lost; void those whose time is over. Returns how many."""
    now = clock.now()
    unsent = Q(lease_until=None, sent_at__lt=now - MESSAGE_LEASE)
    lost = Q(lease_until__lt=now) | unsent | Q(request__state__in=ENDED)
    rows = _unanswered().filter(lost).order_by("sent_at")[:AT_ONCE]
    turns = list(rows)
    for turn in turns:
        recover_turn(turn)
    return len(turns)


def _unanswered() -> QuerySet[Turn]:
    return Turn.objects.filter(state__in=UNANSWERED).select_related(
        "request__candidate_set",
        "session__system__generator",
        "session__dialogue",
        "session__assignment__run__project__assessment",
    )


def recover(turn_id: UUID) -> None:
    """Called while the participant waits for a turn that may be lost, so that they need not wait for the scheduler."""
    turn = _unanswered().filter(pk=turn_id).first()
    if turn is not None:
        recover_turn(turn)


def give_up_leases(workers: list[str]) -> int:
    """Return the turns of workers that are known to be gone to the queue."""
    turns = list(_unanswered().filter(state=TurnState.CALLING, worker__in=workers))
    for turn in turns:
        _return_to_queue(turn)
    return len(turns)


def recover_turn(turn: Turn) -> None:
    """Do what an unanswered turn needs now: nothing, another message, another worker, or its end."""
    now = clock.now()
    if turn.worker == GENERATION and turn.request is not None:
        _recover_request(turn, now)
    elif now > turn.sent_at + _time_limit(turn):
        handle_failure(turn=turn, error=_too_late(turn), is_final=True)
    elif turn.lease_until is not None and turn.lease_until >= now:
        return
    elif turn.state == TurnState.CALLING:
        _return_to_queue(turn)
    else:
        _send_again(turn, now)


def _time_limit(turn: Turn) -> timedelta:
    settings = turn.session.assignment.run.project.assessment
    return timedelta(seconds=settings.reply_timeout_seconds * (settings.reply_retries + 1)) + SLACK


def _too_late(turn: Turn) -> BackendError:
    if turn.state == TurnState.WAITING:
        return BackendError(
            "No worker took the turn in time.", "Start one: celery -A config worker -Q chat.", retryable=True
        )
    return BackendError("The system did not answer in time.", "Check whether it is overloaded.", True)


def _recover_request(turn: Turn, now: datetime) -> None:
    request = turn.request
    if request is None:
        return
    if request.state in ENDED:
        collect_answer(turn)
    elif turn.lease_until is not None and turn.lease_until < now:
        cancel_request(request=request)
        handle_failure(turn=turn, error=_not_generated(request.state))
    else:
        wake_if_overdue(request)


def _not_generated(state: str) -> BackendError:
    if state == RequestState.QUEUED:
        return BackendError(
            "No worker of the queue gpu took the turn in time.",
            "Start one: celery -A config worker -Q gpu --pool solo.",
            retryable=True,
        )
    return BackendError("The model did not answer in time.", "Check the log of the gpu worker.", True)


def _return_to_queue(turn: Turn) -> None:
    """From a worker that was lost. Its call does not count against the system."""
    if turn.losses >= MAX_LOSSES:
        error = BackendError("The worker was lost several times while it asked the system.", "See its log.")
        handle_failure(turn=turn, error=error, is_final=True)
        return
    held = Turn.objects.filter(
        pk=turn.pk, state=TurnState.CALLING, worker=turn.worker, attempts=turn.attempts
    )
    lease = clock.now() + MESSAGE_LEASE
    if held.update(state=TurnState.WAITING, worker="", losses=F("losses") + 1, lease_until=lease):
        send_turn(turn)


def _send_again(turn: Turn, now: datetime) -> None:
    waiting = Turn.objects.filter(pk=turn.pk, state=TurnState.WAITING, lease_until=turn.lease_until)
    if waiting.update(lease_until=now + MESSAGE_LEASE):
        send_turn(turn)
