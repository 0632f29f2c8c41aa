"""Systems that leave participants without a reply."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Max, Q
from django.utils import timezone

from assessment.sessions.models.conversations import Turn, TurnState
from assessment.systems.models import System

# A system whose last failure is older is tried again.
RECENT: Final = timedelta(minutes=10)


def failing_systems(systems: Iterable[System], within: timedelta = RECENT) -> set[int]:
    """Keys of the systems that have left somebody without a reply lately and have answered nobody since."""
    recent = Turn.objects.filter(
        session__system__in=[one.pk for one in systems], sent_at__gte=timezone.now() - within
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
