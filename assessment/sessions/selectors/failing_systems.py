"""Systems that leave participants without a reply, and those that have not shown yet that they answer."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Max, Q

from assessment.sessions.models.conversations import Turn, TurnState
from assessment.sessions.models.runs import Run, RunState
from assessment.systems.models import Connector, System, TrialState
from assessment.systems.selectors.trials import last_checks
from common import clock
from projects.models import Project

# A system whose last failure is older is tried again.
RECENT: Final = timedelta(minutes=10)


def failing_systems(systems: Iterable[System], within: timedelta = RECENT) -> set[int]:
    """Keys of the systems that have left somebody without a reply lately and have answered nobody since."""
    recent = Turn.objects.filter(
        session__system__in=[one.pk for one in systems], sent_at__gte=clock.now() - within
    )
    outcomes = (
        recent.order_by()
        .values("session__system")
        .annotate(
            failed=Max("sent_at", filter=Q(state=TurnState.FAILED)),
            replied=Max("replied_at", filter=Q(state=TurnState.REPLIED)),
        )
    )
    return {row["session__system"] for row in outcomes if _is_failing(row["failed"], row["replied"])}


def _is_failing(failed: datetime | None, replied: datetime | None) -> bool:
    return failed is not None and (replied is None or replied <= failed)


@dataclass(frozen=True, slots=True)
class UnprovenSystem:
    """A system that may not answer. is_failed: its last check failed; otherwise nobody has checked it."""

    system: System
    is_failed: bool


def unproven_systems(project: Project) -> list[UnprovenSystem]:
    """The systems that take part and whose last check failed, or that never answered anybody. Three queries."""
    present = System.objects.filter(project=project, retired_at=None).exclude(connector=Connector.IMPORTED)
    systems = list(present.order_by("name"))
    replied = Turn.objects.filter(session__system__in=systems, state=TurnState.REPLIED).order_by()
    last_replies = dict(replied.values_list("session__system").annotate(last=Max("replied_at")))
    checks = last_checks(systems)
    unproven = []
    for system in systems:
        check, last_reply = checks.get(system.pk), last_replies.get(system.pk)
        if check is None and last_reply is None:
            unproven.append(UnprovenSystem(system, is_failed=False))
        elif (
            check is not None and check.state == TrialState.FAILED and _is_failing(check.ended_at, last_reply)
        ):
            unproven.append(UnprovenSystem(system, is_failed=True))
    return unproven


def failing_in_open_runs(project: Project) -> list[str]:
    """The names of the systems that leave participants of an open run without a reply."""
    if not Run.objects.filter(project=project, state=RunState.OPEN).exists():
        return []
    systems = list(System.objects.filter(project=project, retired_at=None).order_by("name"))
    failing = failing_systems(systems)
    return [system.name for system in systems if system.pk in failing]
