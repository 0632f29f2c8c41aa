"""Whether the verdict on a batch can still be undone."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.batch_review.models import SampleItem
from annotation.batch_review.selectors.eligibility import fully_judged
from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Assignment, AssignmentState, Task
from common.refusals import Refusal
from projects.models import Event

UNDO_MINUTES = 10
UNDO_WITHIN = timedelta(minutes=UNDO_MINUTES)


def undo_until(row: Round) -> datetime | None:
    """Until when the verdict on this round can be undone; None if it has none, or if it was too long ago."""
    if row.ended_at is None:
        return None
    until = row.ended_at + UNDO_WITHIN
    return until if timezone.now() < until else None


def verdict_shows_secrets(row: Round) -> bool:
    """Whether a verdict on this round shows what somebody who could judge on must not know.

    That is a label of a blind sample, or what the first of two controllers said, if not all of the sample is judged.
    """
    left = SampleItem.objects.filter(~fully_judged(), sample__round=row, task__dialogue__isnull=False)
    return left.filter(Q(sample__is_blind=True) | Q(sample__is_double=True)).exists()


def refuse_undo_of_acceptance(row: Round) -> Refusal | None:
    """Why the acceptance of this round cannot be undone: too_late, secrets_shown."""
    return _refuse_undo(row, _("The batch stays accepted."))


def refuse_undo_of_return(row: Round, following: Round | None) -> Refusal | None:
    """Why the return of this round cannot be undone: too_late, secrets_shown, worked_on. following: the next round."""
    stays = _("The labels stay withdrawn; the dialogues are labelled again.")
    if following is None:
        return _too_late(stays)
    if refusal := _refuse_undo(row, stays):
        return refusal
    if following.state != RoundState.OPEN or _is_worked_on(row, following):
        return Refusal(
            "worked_on",
            _("Somebody has already worked on the next round, so the return can no longer be undone."),
            _("The labels stay withdrawn; judge the next round when it is complete."),
        )
    return None


def _refuse_undo(row: Round, remedy: str) -> Refusal | None:
    """For what holds for every verdict."""
    if undo_until(row) is None:
        return _too_late(remedy)
    if verdict_shows_secrets(row):
        return Refusal(
            "secrets_shown",
            _(
                "The verdict came before the whole sample was judged, and the labels and judgements of the sample "
                "are visible since then. So the rest can no longer be judged independently, and the verdict stands."
            ),
            remedy,
        )
    return None


def _too_late(remedy: str) -> Refusal:
    why = _("A verdict can be undone for %(n)d minutes, and this time is over.")
    return Refusal("too_late", why % {"n": UNDO_MINUTES}, remedy)


def copied_tasks(row: Round) -> QuerySet[Task]:
    """The tasks that the return of this round made: those of the next round, and closed ones of gold dialogues."""
    dialogues = Task.objects.filter(round=row).values("dialogue")
    later = Task.objects.filter(project=row.project_id, dialogue__in=dialogues, created_at__gte=row.ended_at)
    return later.exclude(round=row)


def was_undone(row: Round, decision_id: UUID) -> bool:
    """Whether the verdict with this id was undone."""
    return _events_of(row).filter(data__undone=str(decision_id)).exists()


def reason_of_undone_return(row: Round) -> str:
    """Why the round was last returned, for whoever returns it again; empty if it never was."""
    returns = _events_of(row).filter(kind="state", after=RoundState.RETURNED)
    return returns.values_list("reason", flat=True).first() or ""


def _events_of(row: Round) -> QuerySet[Event]:
    """The newest first."""
    return Event.objects.filter(subject_type=row._meta.label_lower, subject_id=str(row.pk))


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
