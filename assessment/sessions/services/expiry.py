"""Ends assignments whose participants stopped, so that their places reopen."""

from typing import Final

from django.db import transaction

from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.services.assignment import end_assignment
from common import clock

AT_ONCE: Final = 200


def reap_expired_assignments() -> int:
    """End up to AT_ONCE assignments whose expiry has passed. Returns how many; safe to run in parallel."""
    expired = Assignment.objects.filter(state=AssignmentState.ACTIVE, expires_at__lt=clock.now())
    return sum(_reap(key) for key in expired.order_by("expires_at").values_list("pk", flat=True)[:AT_ONCE])


@transaction.atomic
def _reap(assignment_id: int) -> bool:
    """Look again under the lock: the participant may have acted, or another worker may be here."""
    locked = Assignment.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
    expired = locked.filter(state=AssignmentState.ACTIVE, expires_at__lt=clock.now())
    assignment = expired.select_related("run__project").filter(pk=assignment_id).first()
    if assignment is None:
        return False
    end_assignment(assignment, to=AssignmentState.TIMED_OUT, reason="expired")
    return True
