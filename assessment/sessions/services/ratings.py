"""What a participant thinks of a conversation, and of the whole study."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from assessment.sessions.models.conversations import (
    SESSION_MOVES,
    Opinion,
    Rating,
    Session,
    SessionState,
    TopicChange,
)
from assessment.sessions.models.participants import Assignment, AssignmentState, Participant
from assessment.sessions.selectors.assignments import Step, current_position
from assessment.sessions.services.assignment import end_assignment
from assessment.sessions.services.chat import ensure_open, lock_session
from assessment.sessions.services.participants import assignment_over, lock_assignment
from common import clock
from common.refusals import Invalid, Refusal
from dialogues.models import DIALOGUE_MOVES, DialogueState
from projects.transitions import move

MAX_FEEDBACK: Final = 10_000  # characters; the rest is cut off
LEAST, MOST = 0, 100


@transaction.atomic
def submit_ratings(
    *,
    participant: Participant,
    session_id: int,
    values: Mapping[str, Any],
    bot_opinion: str,
    topic_change: str,
) -> Session:
    """Store the value of every statement and the two answers about the topic. The same values again change nothing.

    Raises Invalid (with the field that is missing or wrong), NotFound, Refusal: session_voided, assignment_over,
    not_rating, already_rated.
    """
    session = lock_session(participant=participant, session_id=session_id, may_be_over=True)
    ratings = _checked_ratings(session, values)
    _check_answers(bot_opinion, topic_change)
    if session.state == SessionState.RATED:
        _check_same(session, ratings, bot_opinion, topic_change)
        return session
    ensure_open(session)
    if session.state != SessionState.RATING:
        raise Refusal(
            "not_rating",
            _("This conversation cannot be rated yet."),
            _("Reload the page to see where you are."),
            details={"state": session.state},
        )
    Rating.objects.bulk_create(
        Rating(session=session, statement=name, value=value) for name, value in ratings.items()
    )
    _finish(session, bot_opinion, topic_change)
    return session


@transaction.atomic
def submit_feedback(*, assignment: Assignment, feedback: str) -> Assignment:
    """Complete the assignment. feedback: may be empty. Safe to repeat: the first feedback stays.

    Raises Refusal: assignment_over, not_rated.
    """
    assignment = lock_assignment(assignment)
    if assignment.state == AssignmentState.COMPLETED:
        return assignment
    if assignment.state != AssignmentState.ACTIVE:
        raise assignment_over(assignment)
    if current_position(assignment).step != Step.FEEDBACK:
        raise Refusal(
            "not_rated",
            _("A conversation is not rated yet."),
            _("Reload the page to see where you are."),
        )
    assignment.feedback = feedback.replace("\0", "").strip()[:MAX_FEEDBACK]
    assignment.save(update_fields=["feedback"])
    end_assignment(assignment, to=AssignmentState.COMPLETED, actor=assignment.participant.user)
    return assignment


def _checked_ratings(session: Session, values: Mapping[str, Any]) -> dict[str, float]:
    statements = session.assignment.run.project.assessment.statement_list
    names = [statement.name for statement in statements]
    if unknown := sorted(set(values) - set(names)):
        raise Invalid(_("There is no statement “%(name)s”.") % {"name": unknown[0]}, field=unknown[0])
    return {name: _checked_value(name, values.get(name)) for name in names}


def _checked_value(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise Invalid(
            _("A statement has no answer yet."), _("Move every slider, even if only a little."), field=name
        )
    if not LEAST <= value <= MOST:
        raise Invalid(_("An answer is a number from 0 to 100."), field=name)
    return float(value)


def _check_answers(bot_opinion: str, topic_change: str) -> None:
    if bot_opinion not in Opinion.values:
        raise Invalid(_("Say what the chatbot seemed to think of the topic."), field="bot_opinion")
    if topic_change not in TopicChange.values:
        raise Invalid(_("Say whether the topic changed."), field="topic_change")


def _check_same(session: Session, ratings: dict[str, float], bot_opinion: str, topic_change: str) -> None:
    stored = dict(Rating.objects.filter(session=session).values_list("statement", "value"))
    if (stored, session.bot_opinion, session.topic_change) != (ratings, bot_opinion, topic_change):
        raise Refusal(
            "already_rated",
            _("You have already rated this conversation."),
            _("Your first answers stay. Continue with the next conversation."),
        )


def _finish(session: Session, bot_opinion: str, topic_change: str) -> None:
    participant, project = session.assignment.participant, session.assignment.run.project
    now = clock.now()
    move(
        session,
        to=SessionState.RATED,
        moves=SESSION_MOVES,
        project=project,
        actor=participant.user,
        data={"participant": participant.pk},
        bot_opinion=bot_opinion,
        topic_change=topic_change,
        rated_at=now,
    )
    if session.dialogue is not None:
        move(
            session.dialogue,
            to=DialogueState.FINISHED,
            moves=DIALOGUE_MOVES,
            project=project,
            actor=participant.user,
            finished_at=now,
        )
