"""The conversation of a session: its topic, the participant's inputs, its end."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assessment.sessions.models.conversations import SESSION_MOVES, Opinion, Session, SessionState, Turn
from assessment.sessions.models.participants import Assignment, AssignmentState, Participant
from assessment.sessions.selectors.assignments import current_position
from assessment.sessions.selectors.turns import is_answered, remaining_ms
from assessment.sessions.services import replies
from assessment.sessions.services.assignment import expiry
from assessment.sessions.services.participants import assignment_over, lock_assignment
from assessment.sessions.services.retired_systems import replace_retired_system
from common import clock
from common.idempotency import check_repeat
from common.refusals import Invalid, NotFound, Refusal
from dialogues.models import Dialogue, DialogueState, Origin, Utterance, new_external_id
from dialogues.splits import split_for
from projects.models import DialogueLanguage, Event, Project
from projects.transitions import move, record_request

MAX_INPUT: Final = 2_000  # characters
MAX_TOPIC: Final = 500
MAX_COUNT: Final = 2**31 - 1
PARTICIPANT, SYSTEM = "A", "B"  # speakers in the dialogue
TOPIC_CHANGE: Final = "assessment.topic_change"
WRITING: Final = ("typing_ms", "pasted", "left_page")


@transaction.atomic
def start_session(*, participant: Participant, session_id: int, topic: str, opinion: str) -> Session:
    """Begin the chat about a topic. An ice-breaker, if the session has one, is the topic.

    A system that was retired meanwhile is replaced first. Safe to repeat.
    Raises Invalid, NotFound, Refusal: session_voided, assignment_over, not_current, already_started.
    """
    session = lock_session(participant=participant, session_id=session_id)
    topic = session.ice_breaker[:MAX_TOPIC] or clean_topic(topic)
    check_opinion(opinion)
    if session.state in (SessionState.CHATTING, SessionState.RATING):
        if (session.topic, session.opinion) != (topic, opinion) and session.input_count == 0:
            raise Refusal(
                "already_started",
                _("This conversation has already started with another topic."),
                _("You can change the topic during the chat."),
            )
        return session
    _check_current(session)
    if session.system.retired_at is not None:
        replace_retired_system(session)
    _move(
        session,
        SessionState.CHATTING,
        topic=topic,
        opinion=opinion,
        started_at=clock.now(),
        dialogue=_create_dialogue(session.assignment.run.project),
    )
    return session


@transaction.atomic
def change_topic(
    *, participant: Participant, session_id: int, change_id: UUID, topic: str, opinion: str
) -> Session:
    """Change the topic of a chat; the next input stores it. The same change_id again changes nothing.

    Raises Invalid, NotFound, Refusal: session_voided, assignment_over, not_chatting, id_in_use.
    """
    session = lock_session(participant=participant, session_id=session_id)
    topic = clean_topic(topic)
    check_opinion(opinion)
    first = Event.objects.filter(subject_type=TOPIC_CHANGE, subject_id=str(change_id)).first()
    if first is not None:
        check_repeat(first.data, session=session_id, topic=topic, opinion=opinion)
        return session
    _check_chatting(session)
    before = {"topic_before": session.topic, "opinion_before": session.opinion}
    session.topic, session.opinion = topic, opinion
    session.save(update_fields=["topic", "opinion"])
    record_request(
        TOPIC_CHANGE,
        change_id,
        kind="topic_changed",
        project=session.assignment.run.project,
        actor=participant.user,
        data={"session": session_id, "topic": topic, "opinion": opinion, **before},
    )
    return session


@transaction.atomic
def send_input(
    *, participant: Participant, session_id: int, turn_id: UUID, text: str, writing: Mapping[str, Any]
) -> Turn:
    """Store an input and ask the system for its reply. The same turn_id again returns the first turn.

    writing: {"typing_ms", "pasted", "left_page"}; other keys are dropped.
    Raises Invalid (blank, or longer than 2,000 characters), NotFound, Refusal: session_voided, assignment_over,
    not_chatting, reply_pending (with retry_after_ms), id_in_use.
    """
    text = clean_input(text)
    session = lock_session(participant=participant, session_id=session_id, may_be_over=True)
    first = Turn.objects.select_related("input").filter(pk=turn_id).first()
    if first is not None:
        check_repeat(first, session_id=session_id)
        check_repeat(first.input, text=text)
        return first
    ensure_open(session)
    _check_chatting(session)
    _check_answered(session)
    turn = _store_input(session, turn_id, text, clean_writing(writing))
    transaction.on_commit(lambda: replies.request_reply(turn), robust=True)
    return turn


@transaction.atomic
def finish_chat(*, participant: Participant, session_id: int) -> Session:
    """End the chat and open the statements. Safe to repeat.

    Raises NotFound, Refusal: session_voided, assignment_over, not_chatting, too_few_inputs, reply_pending.
    """
    session = lock_session(participant=participant, session_id=session_id)
    if session.state in (SessionState.RATING, SessionState.RATED):
        return session
    _check_chatting(session)
    missing = session.assignment.run.project.assessment.inputs - session.input_count
    if missing > 0:
        raise Refusal(
            "too_few_inputs",
            ngettext("%(n)s more message is needed.", "%(n)s more messages are needed.", missing)
            % {"n": intcomma(missing)},
            _("Keep chatting; the counter shows how many messages are left."),
            details={"missing": missing},
        )
    _check_answered(session)
    _move(session, SessionState.RATING)
    return session


@transaction.atomic
def return_to_chat(*, participant: Participant, session_id: int) -> Session:
    """Go back from the statements to the chat. Safe to repeat. Raises NotFound, Refusal."""
    session = lock_session(participant=participant, session_id=session_id)
    if session.state == SessionState.RATING:
        _move(session, SessionState.CHATTING)
    return session


def lock_session(*, participant: Participant, session_id: int, may_be_over: bool = False) -> Session:
    """A session of the participant, locked after its assignment, whose expiry moves on.

    may_be_over: the caller checks with ensure_open. Raises NotFound, Refusal: session_voided, assignment_over.
    """
    assignment = Assignment.objects.filter(participant=participant, sessions=session_id).first()
    if assignment is None:
        raise NotFound(_("There is no such conversation."), _("Reload the page."))
    assignment = lock_assignment(assignment)
    locked = Session.objects.select_for_update(of=("self",), no_key=True)
    session = locked.select_related("system", "dialogue").get(pk=session_id)
    session.assignment = assignment
    if not may_be_over:
        ensure_open(session)
    return session


def ensure_open(session: Session) -> None:
    """Renew the expiry of the assignment. Raises Refusal: assignment_over, session_voided."""
    assignment = session.assignment
    if assignment.state != AssignmentState.ACTIVE:
        raise assignment_over(assignment)
    if session.state == SessionState.VOIDED:
        raise Refusal(
            "session_voided",
            _("The chatbot of this conversation stopped answering."),
            _("It is replaced by a new conversation. What you wrote is kept."),
        )
    assignment.expires_at = expiry(assignment.run.project.assessment)
    assignment.save(update_fields=["expires_at"])


def clean_topic(topic: str) -> str:
    """The topic without surrounding space. Raises Invalid if it is blank or too long."""
    topic = " ".join(topic.replace("\0", "").split())
    if not topic:
        raise Invalid(_("Enter a topic."), field="topic")
    if len(topic) > MAX_TOPIC:
        raise Invalid(
            _("The topic is longer than %(most)s characters.") % {"most": intcomma(MAX_TOPIC)},
            _("Shorten it; nothing is cut off."),
            field="topic",
        )
    return topic


def check_opinion(opinion: str) -> None:
    """Raise Invalid unless it is like, ambivalent or dislike."""
    if opinion not in Opinion.values:
        raise Invalid(_("Say what you think of the topic."), field="opinion")


def clean_input(text: str) -> str:
    """The input without surrounding space. Raises Invalid if it is blank or too long."""
    text = text.replace("\0", "").strip()
    if not text:
        raise Invalid(_("Write something first."), field="text")
    if len(text) > MAX_INPUT:
        raise Invalid(
            _("This message has %(n)s characters; at most %(most)s can be sent.")
            % {"n": intcomma(len(text)), "most": intcomma(MAX_INPUT)},
            _("Shorten it; nothing is cut off."),
            field="text",
        )
    return text


def clean_writing(writing: Mapping[str, Any]) -> dict[str, int]:
    """The integrity log of an input: whole numbers from 0."""
    numbers = {name: writing.get(name) for name in WRITING}
    return {
        name: min(max(int(value), 0), MAX_COUNT)
        for name, value in numbers.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and -MAX_COUNT < value < MAX_COUNT
    }


def _store_input(session: Session, turn_id: UUID, text: str, writing: dict[str, int]) -> Turn:
    number = session.input_count + 1
    dialogue = Dialogue.objects.get(assessment_session=session)
    utterance = Utterance.objects.create(
        dialogue=dialogue, position=2 * (number - 1), speaker=PARTICIPANT, text=text
    )
    turn = Turn.objects.create(
        id=turn_id,
        session=session,
        number=number,
        input=utterance,
        topic=session.topic,
        opinion=session.opinion,
        # Of the assignment, so that a repetition of the run draws the same replies.
        seed=(session.assignment.seed + 1009 * session.place + number) % 2**63,
        writing=writing,
        sent_at=clock.now(),
    )
    session.input_count = number
    session.save(update_fields=["input_count"])
    dialogue.utterance_count = 2 * number - 1
    dialogue.save(update_fields=["utterance_count"])
    return turn


def _check_chatting(session: Session) -> None:
    if session.state != SessionState.CHATTING:
        raise Refusal(
            "not_chatting",
            _("This conversation is not open for messages."),
            _("Reload the page to see where you are."),
            details={"state": session.state},
        )


def _check_current(session: Session) -> None:
    current = current_position(session.assignment).session
    if current is None or current.pk != session.pk:
        raise Refusal(
            "not_current",
            _("You have another conversation to finish first."),
            _("Reload the page to see where you are."),
        )


def _check_answered(session: Session) -> None:
    last = Turn.objects.filter(session=session).order_by("-number").first()
    if last is not None and not is_answered(last):
        raise Refusal(
            "reply_pending",
            _("The chatbot has not answered your last message yet."),
            _("Wait for its reply."),
            details={"turn": str(last.pk), "retry_after_ms": remaining_ms(last.visible_at)},
        )


def _create_dialogue(project: Project) -> Dialogue:
    external_id = new_external_id()
    language = "" if project.language == DialogueLanguage.MIXED else project.language
    return Dialogue.objects.create(
        project=project,
        external_id=external_id,
        origin=Origin.CHATTED,
        state=DialogueState.WRITING,
        split=split_for(external_id),
        language=language,
    )


def _move(session: Session, to: SessionState, **changes: Any) -> None:
    participant = session.assignment.participant
    move(
        session,
        to=to,
        moves=SESSION_MOVES,
        project=session.assignment.run.project,
        actor=participant.user,
        data={"participant": participant.pk},
        **changes,
    )
