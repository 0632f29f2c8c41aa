"""What a participant may read of a chat: a reply only from `visible_at` on."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from assessment.sessions.models.conversations import Session, SessionState, Turn, TurnState
from assessment.sessions.models.participants import AssignmentState
from assessment.systems.models import System
from common import clock
from common.refusals import NotFound
from generation.models import RequestState

POLL_MS = 300
# A message that no worker took by then is taken for lost.
MESSAGE_LEASE = timedelta(seconds=10)
# The worker that stored an answer passes it on itself, unless it was killed in between.
COLLECTED_AFTER = timedelta(seconds=2)
ENDED = (RequestState.DONE, RequestState.FAILED, RequestState.CANCELLED)


@dataclass(frozen=True, slots=True)
class TurnStatus:
    """state: waiting, replied, voided (the session), ended (the assignment). retry_after_ms: when to ask again.

    is_lost: whether its message or its worker may be lost, so that `recovery.recover` should look.
    """

    state: str
    reply: str = ""
    retry_after_ms: int = 0
    is_lost: bool = False

    def as_json(self) -> dict[str, Any]:
        if self.state == "replied":
            return {"state": self.state, "reply": self.reply}
        return {"state": self.state, "retry_after_ms": self.retry_after_ms}


def turn_status(*, slug: str, token: UUID, turn_id: UUID) -> TurnStatus:
    """The state of a participant's own turn; one query. Raises NotFound."""
    own = Turn.objects.filter(
        pk=turn_id,
        session__assignment__participant__token=token,
        session__assignment__participant__project__slug=slug,
    )
    row = own.values_list(
        "state",
        "visible_at",
        "reply__text",
        "session__state",
        "session__assignment__state",
        "sent_at",
        "lease_until",
        "request__state",
    ).first()
    if row is None:
        raise NotFound(_("There is no such message."), _("Reload the page."))
    state, visible_at, reply, session_state, assignment_state, sent_at, lease_until, request_state = row
    if state == TurnState.REPLIED and remaining_ms(visible_at) == 0:
        return TurnStatus("replied", reply or "")
    if session_state == SessionState.VOIDED:
        return TurnStatus("voided")
    if assignment_state != AssignmentState.ACTIVE:
        return TurnStatus("ended")
    return TurnStatus(
        "waiting",
        retry_after_ms=remaining_ms(visible_at) or POLL_MS,
        is_lost=visible_at is None and is_lost(sent_at, lease_until, request_state),
    )


def is_lost(sent_at: datetime, lease_until: datetime | None, request_state: str | None) -> bool:
    """Whether an unanswered turn's lease has ended, or its request has ended and nobody stored the reply."""
    now = clock.now()
    request_ended = request_state in ENDED and now - sent_at > COLLECTED_AFTER
    return (lease_until or sent_at + MESSAGE_LEASE) < now or request_ended


def remaining_ms(visible_at: datetime | None) -> int:
    """Milliseconds until a reply may be shown, rounded up; 0 if it may be shown now, or has not come yet."""
    if visible_at is None:
        return 0
    return max(0, ceil((visible_at - clock.now()).total_seconds() * 1000))


def is_answered(turn: Turn) -> bool:
    """Whether the participant can see the reply."""
    return turn.state == TurnState.REPLIED and remaining_ms(turn.visible_at) == 0


@dataclass(frozen=True, slots=True)
class Message:
    """One bubble of the chat. waiting: the id of a turn whose reply is not visible yet."""

    turn: str
    is_mine: bool
    text: str


def messages_of(session: Session) -> tuple[list[Message], str]:
    """The messages that the participant may see, and the id of the turn that waits for its reply ("" if none)."""
    turns = Turn.objects.filter(session=session).select_related("input", "reply").order_by("number")
    messages, waiting = [], ""
    for turn in turns:
        messages.append(Message(str(turn.pk), True, turn.input.text))
        if is_answered(turn) and turn.reply is not None:
            messages.append(Message(str(turn.pk), False, turn.reply.text))
        else:
            waiting = str(turn.pk)
    return messages, waiting


def degraded_replies(system: System, count: int) -> list[tuple[str, dict[str, Any]]]:
    """The last replies that participants got of a degraded system, newest first: text and trace.

    Imported replies are left out: nobody knows how they were made.
    """
    replied = Turn.objects.filter(
        session__system=system, state=TurnState.REPLIED, trace__has_key="source_text"
    )
    return list(replied.order_by("-replied_at").values_list("reply__text", "trace")[:count])
