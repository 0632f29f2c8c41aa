"""Replaces a system that was removed from the project after it was given to a participant."""

import random

from django.utils.translation import gettext as _

from assessment.sessions.models.conversations import Session, SessionState
from assessment.sessions.services.assignment import choose_ice_breaker, session_counts
from assessment.systems.models import Connector, System
from common.refusals import Refusal
from projects.transitions import record


def replace_retired_system(session: Session) -> None:
    """Give a session that has not begun another system, one that the assignment does not have yet if there is one.

    The session is locked. Raises Refusal no_systems if none is left.
    """
    assignment = session.assignment
    rng = random.Random(f"{assignment.run.seed}:{assignment.seed}:{session.place}")
    before, system = session.system, _choose(session, rng)
    session.system = system
    if session.ice_breaker:
        settings = assignment.run.project.assessment
        session.ice_breaker = choose_ice_breaker(assignment.run, system, settings, rng)
    session.save(update_fields=["system", "ice_breaker"])
    data = {"before": before.pk, "after": system.pk, "participant": assignment.participant_id}
    record(session, kind="system_replaced", project=assignment.run.project, data=data)


def _choose(session: Session, rng: random.Random) -> System:
    run = session.assignment.run
    systems = System.objects.filter(project=run.project_id, retired_at=None).exclude(
        connector=Connector.IMPORTED
    )
    of_same_kind = [one for one in systems.order_by("pk") if one.is_degraded == session.system.is_degraded]
    if not of_same_kind:
        raise Refusal(
            "no_systems",
            _("No chatbot is available at the moment."),
            _("Wait a few minutes and try again."),
            status=503,
        )
    sessions = Session.objects.filter(assignment=session.assignment).exclude(state=SessionState.VOIDED)
    used = set(sessions.values_list("system", flat=True))
    counts = session_counts(run)
    return min(of_same_kind, key=lambda one: (one.pk in used, counts[one.pk], rng.random()))
