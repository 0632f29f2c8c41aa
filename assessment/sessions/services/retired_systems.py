"""Replaces a system that was removed from the project after it was given to a participant."""

import random

from assessment.sessions.models.conversations import Session, SessionState
from assessment.sessions.models.participants import AssignmentState
from assessment.sessions.services.assignment import choose_ice_breaker, end_assignment, session_counts
from assessment.systems.models import Connector, System
from projects.transitions import record


def replace_retired_system(session: Session) -> bool:
    """Give a session that has not begun another system, one that the assignment does not have yet if there is one.

    The session and its assignment are locked. False if no system is left: the assignment has ended as a failure of the
    systems, which is paid.
    """
    assignment = session.assignment
    rng = random.Random(f"{assignment.run.seed}:{assignment.seed}:{session.place}")
    before, system = session.system, _choose(session, rng)
    if system is None:
        end_assignment(assignment, to=AssignmentState.SYSTEM_FAILURE, reason="every system was removed")
        return False
    session.system = system
    if session.ice_breaker:
        settings = assignment.run.project.assessment
        session.ice_breaker = choose_ice_breaker(assignment.run, system, settings, rng)
    session.save(update_fields=["system", "ice_breaker"])
    data = {"before": before.pk, "after": system.pk, "participant": assignment.participant_id}
    record(session, kind="system_replaced", project=assignment.run.project, data=data)
    return True


def _choose(session: Session, rng: random.Random) -> System | None:
    run = session.assignment.run
    systems = System.objects.filter(project=run.project_id, retired_at=None).exclude(
        connector=Connector.IMPORTED
    )
    of_same_kind = [one for one in systems.order_by("pk") if one.is_degraded == session.system.is_degraded]
    sessions = Session.objects.filter(assignment=session.assignment).exclude(state=SessionState.VOIDED)
    used = set(sessions.values_list("system", flat=True))
    counts = session_counts(run)
    return min(of_same_kind, key=lambda one: (one.pk in used, counts[one.pk], rng.random()), default=None)
