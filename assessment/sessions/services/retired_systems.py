"""Retires systems while participants have conversations with them before them."""

import random

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from assessment.sessions.models.conversations import Session, SessionState
from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.services.assignment import session_counts
from assessment.systems.models import Connector, System
from assessment.systems.services.systems import retire_system
from common.refusals import Refusal
from projects.locking import lock_project
from projects.transitions import record


@transaction.atomic
def retire_unless_needed(*, system: System, actor: User | None) -> System:
    """Retire a system. Conversations that have not begun get another one of its kind. Safe to repeat.

    Raises Refusal system_needed if it is the last of its kind and participants who are at it still need one.
    """
    # Locks the project's systems, so that two that need each other are not retired at once.
    lock_project(system.project_id)
    if not _others_of_kind(system).exists() and (waiting := _waiting_participants(system)):
        raise _needed(system, waiting)
    return retire_system(system=system, actor=actor)


def _others_of_kind(system: System) -> QuerySet[System]:
    """Other systems that can take the place of this one: degraded for degraded, ordinary for ordinary."""
    usable = System.objects.filter(project=system.project_id, retired_at=None).exclude(pk=system.pk)
    degraded = Q(connector=Connector.DEGRADED)
    return usable.exclude(connector=Connector.IMPORTED).filter(degraded if system.is_degraded else ~degraded)


def _waiting_participants(system: System) -> int:
    """How many participants who are at it have a conversation with the system that is not over."""
    before = Session.objects.filter(system=system, state__in=[SessionState.TOPIC, SessionState.CHATTING])
    active = Assignment.objects.filter(state=AssignmentState.ACTIVE, sessions__in=before)
    return active.distinct().count()


def _needed(system: System, participants: int) -> Refusal:
    if system.is_degraded:
        message = ngettext(
            "%(n)s participant still has to talk to “%(name)s”, the only degraded system.",
            "%(n)s participants still have to talk to “%(name)s”, the only degraded system.",
            participants,
        )
    else:
        message = ngettext(
            "%(n)s participant still has to talk to “%(name)s”, the only ordinary system.",
            "%(n)s participants still have to talk to “%(name)s”, the only ordinary system.",
            participants,
        )
    return Refusal(
        "system_needed",
        message % {"n": intcomma(participants), "name": system.name},
        _("Add another one first, or close the run and wait until they have finished."),
        details={"participants": participants},
    )


def replace_retired_system(session: Session) -> None:
    """Give a session that has not begun another system, one that the assignment does not have yet if there is one.

    The session and its assignment are locked. The session keeps its system if no other one is left: participants lose
    nothing because a manager was faster than they were. The ice-breaker stays, because the participant has read it.
    """
    assignment = session.assignment
    rng = random.Random(f"{assignment.run.seed}:{assignment.seed}:{session.place}")
    before, system = session.system, _choose(session, rng)
    if system is None:
        return
    session.system = system
    session.save(update_fields=["system"])
    data = {"before": before.pk, "after": system.pk, "participant": assignment.participant_id}
    record(session, kind="system_replaced", project=assignment.run.project, data=data)


def _choose(session: Session, rng: random.Random) -> System | None:
    sessions = Session.objects.filter(assignment=session.assignment).exclude(state=SessionState.VOIDED)
    used = set(sessions.values_list("system", flat=True))
    counts = session_counts(session.assignment.run)
    others = _others_of_kind(session.system).order_by("pk")
    return min(others, key=lambda one: (one.pk in used, counts[one.pk], rng.random()), default=None)
