"""Whether the return of a batch can still be undone."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Assignment, AssignmentState, Task
from common.refusals import Refusal
from projects.models import Event

UNDO_WITHIN = timedelta(minutes=10)


def undo_until(row: Round) -> datetime | None:
    """Until when the return of this round can be undone; None if it was not returned, or too long ago."""
    if row.state != RoundState.RETURNED or row.ended_at is None:
        return None
    until = row.ended_at + UNDO_WITHIN
    return until if timezone.now() < until else None


def refuse_undo(row: Round, following: Round | None) -> Refusal | None:
    """Why the return of this round cannot be undone: too_late, worked_on. following: the round after it."""
    if following is None or undo_until(row) is None:
        return Refusal(
            "too_late",
            _("A return can be undone for %(n)d minutes, and they are over.")
            % {"n": UNDO_WITHIN // timedelta(minutes=1)},
            _("The labels stay withdrawn; the dialogues are labelled again."),
        )
    if following.state != RoundState.OPEN or _is_worked_on(row, following):
        return Refusal(
            "worked_on",
            _("Somebody has already worked on the next round, so the return can no longer be undone."),
            _("The labels stay withdrawn; judge the next round when it is complete."),
        )
    return None


def copied_tasks(row: Round) -> QuerySet[Task]:
    """The tasks that the return of this round made: those of the next round, and closed ones of gold dialogues."""
    dialogues = Task.objects.filter(round=row).values("dialogue")
    later = Task.objects.filter(project=row.project_id, dialogue__in=dialogues, created_at__gte=row.ended_at)
    return later.exclude(round=row)


def was_undone(row: Round, decision_id: UUID) -> bool:
    """Whether the return with this id was undone."""
    subject = {"subject_type": row._meta.label_lower, "subject_id": str(row.pk)}
    return Event.objects.filter(**subject, data__undone=str(decision_id)).exists()


def _is_worked_on(row: Round, following: Round) -> bool:
    """Dialogues that a browser has only fetched ahead do not count."""
    copies = copied_tasks(row)
    seen = Q(served_at__isnull=False) | Q(label_draft__isnull=False) | Q(state=AssignmentState.SAVED)
    return (
        Assignment.objects.filter(seen, task__in=copies).exists()
        or Submission.objects.filter(task__in=copies).exists()
        or FinalLabel.objects.filter(task__in=copies).exists()
        or copies.exclude(round=None).exclude(round=following).exists()
    )
