"""Replies of systems that are models of this server: answered by the worker of the queue `gpu`."""

from collections.abc import Sequence

from django.db.models import QuerySet

from assessment.sessions.models.conversations import Turn, TurnState
from assessment.sessions.selectors.turns import ENDED
from assessment.sessions.services.failures import handle_failure
from assessment.sessions.services.replies import store_reply
from assessment.systems.connectors.protocol import SystemReply
from assessment.systems.services.asking import checked_reply
from generation.models import CandidateRequest
from generation.protocol import BackendError


def collect_answers(requests: Sequence[CandidateRequest]) -> None:
    """Pass the answers of a batch on to the turns that wait for them; called by the worker that stored them."""
    for turn in turns_to_collect().filter(request__in=[request.pk for request in requests]):
        collect_answer(turn)


def turns_to_collect() -> QuerySet[Turn]:
    """Turns whose request has ended."""
    waiting = Turn.objects.filter(state=TurnState.CALLING, request__state__in=ENDED)
    return waiting.select_related(
        "request__candidate_set",
        "session__system__generator",
        "session__dialogue",
        "session__assignment__run__project__assessment",
    )


def collect_answer(turn: Turn) -> None:
    """Store the reply of a turn whose request has ended, or what failed. Safe to repeat."""
    try:
        reply = checked_reply(_read_reply(turn.request))
    except BackendError as error:
        handle_failure(turn=turn, error=error)
        return
    store_reply(turn=turn, reply=reply)


def _read_reply(request: CandidateRequest | None) -> SystemReply:
    answer = request.candidate_set if request else None
    if request is None or answer is None:
        cause = request.error if request else ""
        raise BackendError(
            cause or "The model gave no reply.", request.remedy if request else "", retryable=True
        )
    candidate = answer.candidates[0]
    trace = {"model": answer.version_of(0), "seed": candidate["seed"], "tokens": candidate["tokens"]}
    return SystemReply(candidate["text"], trace)
