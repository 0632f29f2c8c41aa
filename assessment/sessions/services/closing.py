"""Tells conversational services that a conversation is over."""

from typing import Final

from assessment.sessions.models.conversations import Session, SessionState
from assessment.sessions.models.participants import AssignmentState
from assessment.systems.services.asking import close_conversation
from common.database import release_connection

AT_ONCE: Final = 100
# A participant whose time ran out may come back, and may then go on chatting.
_FINAL: Final = (AssignmentState.COMPLETED, AssignmentState.SYSTEM_FAILURE, AssignmentState.RETURNED)


def close_ended_conversations() -> int:
    """Close up to AT_ONCE conversations at their services. Returns how many. Each is closed once, or not at all if the
    worker is killed: services forget what nobody continues."""
    open_there = Session.objects.exclude(service_session="").select_related("system")
    ended = open_there.filter(state__in=[SessionState.RATED, SessionState.VOIDED])
    left = open_there.filter(assignment__state__in=_FINAL)
    sessions = list((ended | left).order_by("pk")[:AT_ONCE])
    return sum(_close(session) for session in sessions)


def _close(session: Session) -> bool:
    handle = session.service_session
    if not Session.objects.filter(pk=session.pk, service_session=handle).update(service_session=""):
        return False
    release_connection()
    close_conversation(session.system, handle)
    return True
