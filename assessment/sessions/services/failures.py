"""What happens when a system does not answer: retries, then a replacement, then a paid end.

The participant never waits without an end. Locks are taken in this order: assignment, session, turn, run.
"""

import random
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Count, Q

from assessment.sessions.models.conversations import SESSION_MOVES, Session, SessionState, Turn, TurnState
from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.selectors.failing_systems import failing_systems
from assessment.sessions.selectors.turns import MESSAGE_LEASE
from assessment.sessions.services.assignment import choose_ice_breaker, end_assignment, session_counts
from assessment.sessions.services.dispatch import send_turn
from assessment.systems.models import Connector, System
from common import clock
from dialogues.models import DIALOGUE_MOVES, DialogueState
from generation.protocol import BackendError
from projects.transitions import move

MAX_FAILURES: Final = 2  # of one system in one assignment


@transaction.atomic
def handle_failure(*, turn: Turn, error: BackendError, is_final: bool = False) -> None:
    """Try the turn again a little later, or void its session when it has failed too often.

    turn: as the caller holds it; nothing happens if another worker has taken it over. is_final: it is not tried again.
    """
    assignment = _lock_assignment(turn.session_id)
    held = Turn.objects.filter(pk=turn.pk, state=turn.state, worker=turn.worker, attempts=turn.attempts)
    row = held.select_for_update(of=("self",), no_key=True).first()
    if row is None:
        return
    failures = row.attempts - row.losses
    retries = assignment.run.project.assessment.reply_retries
    if failures <= retries and not is_final:
        _try_again(turn, error, pause=2.0 ** (failures - 1))
        return
    held.update(state=TurnState.FAILED, error=str(error), lease_until=None, not_before=None)
    void_session(session=turn.session, reason=str(error))


def _try_again(turn: Turn, error: BackendError, pause: float) -> None:
    not_before = clock.now() + timedelta(seconds=pause)
    Turn.objects.filter(pk=turn.pk).update(
        state=TurnState.WAITING,
        worker="",
        error=str(error),
        not_before=not_before,
        lease_until=not_before + MESSAGE_LEASE,
    )
    transaction.on_commit(lambda: send_turn(turn, after=pause), robust=True)


def _lock_assignment(session_id: int) -> Assignment:
    locked = Assignment.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("run__project__assessment").get(sessions=session_id)


@transaction.atomic
def void_session(*, session: Session, reason: str) -> Session | None:
    """End a session whose system failed and give the participant another one.

    Returns the replacement; None if the assignment has ended, now or before. Safe to repeat. What the participant typed
    is kept in the abandoned dialogue.
    """
    assignment = _lock_assignment(session.pk)
    row = _lock_session(session.pk)
    if row.state not in (SessionState.TOPIC, SessionState.CHATTING):
        return None
    project = assignment.run.project
    data = {"participant": assignment.participant_id, "system": row.system_id}
    move(row, to=SessionState.VOIDED, moves=SESSION_MOVES, project=project, data=data, void_reason=reason)
    if row.dialogue is not None and row.dialogue.state == DialogueState.WRITING:
        move(row.dialogue, to=DialogueState.ABANDONED, moves=DIALOGUE_MOVES, project=project)
    if assignment.state != AssignmentState.ACTIVE:
        return None
    row.assignment = assignment
    system = _replacement(row)
    if system is None:
        end_assignment(assignment, to=AssignmentState.SYSTEM_FAILURE, reason=reason)
        return None
    return _create_replacement(row, system)


def _lock_session(session_id: int) -> Session:
    locked = Session.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("system", "dialogue").get(pk=session_id)


def _create_replacement(session: Session, system: System) -> Session:
    """The topic is offered again; the participant may change it."""
    ice_breaker = session.ice_breaker
    if ice_breaker and system.pk != session.system_id:
        used = set(session.assignment.sessions.values_list("ice_breaker", flat=True))
        ice_breaker = choose_ice_breaker(session.assignment, system, used, _rng(session))
    return Session.objects.create(
        assignment=session.assignment,
        system=system,
        place=session.place,
        attempt=session.attempt + 1,
        ice_breaker=ice_breaker,
        topic=session.topic,
        opinion=session.opinion,
    )


def _replacement(session: Session) -> System | None:
    """The same system if it has recovered, else one that the assignment does not have yet, else any other that works.

    A degraded system is replaced by a degraded one, an ordinary one by an ordinary one. None if none works.
    """
    run = session.assignment.run
    systems = System.objects.filter(project=run.project_id, retired_at=None).exclude(
        connector=Connector.IMPORTED
    )
    of_same_kind = [one for one in systems.order_by("pk") if one.is_degraded == session.system.is_degraded]
    failed_here, used = _failures_and_uses(session.assignment)
    failing = failing_systems(of_same_kind)
    working = [
        one for one in of_same_kind if one.pk not in failing and failed_here.get(one.pk, 0) < MAX_FAILURES
    ]
    counts, rng = session_counts(run), _rng(session)
    return min(
        working,
        key=lambda one: (one.pk != session.system_id, one.pk in used, counts[one.pk], rng.random()),
        default=None,
    )


def _rng(session: Session) -> random.Random:
    assignment = session.assignment
    return random.Random(f"{assignment.run.seed}:{assignment.seed}:{session.place}:{session.attempt}")


def _failures_and_uses(assignment: Assignment) -> tuple[dict[int, int], set[int]]:
    """How often each system failed in this assignment, and which ones it has."""
    is_voided = Q(state=SessionState.VOIDED)
    rows = Session.objects.filter(assignment=assignment).order_by().values("system")
    counted = list(rows.annotate(failed=Count("pk", filter=is_voided), used=Count("pk", filter=~is_voided)))
    failed = {row["system"]: row["failed"] for row in counted}
    return failed, {row["system"] for row in counted if row["used"]}
