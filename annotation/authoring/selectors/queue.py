"""The finished and vetoed dialogues of an author."""

from django.db.models import (
    BooleanField,
    Exists,
    ExpressionWrapper,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
)

from accounts.models import User
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.expert_review.selectors import counted_reviews
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.selectors.queue import _with_opening
from dialogues.models import ReviewState
from projects.models import Project


def finished_assignments(user: User, project: Project) -> QuerySet[Assignment]:
    """The dialogues that the user finished, newest first. `is_being_judged`: it can no longer be taken back."""
    rows = Assignment.objects.filter(annotator=user, project=project, state=AssignmentState.SUBMITTED)
    judged = ~Q(dialogue__review_state=ReviewState.UNREVIEWED) | Q(
        Exists(ExpertReview.objects.filter(counted_reviews(), dialogue=OuterRef("dialogue")))
    )
    rows = rows.annotate(is_being_judged=ExpressionWrapper(judged, output_field=BooleanField()))
    return _with_opening(rows).order_by("-submitted_at")


def vetoed_assignments(user: User, project: Project, *, read: bool = False) -> QuerySet[Assignment]:
    """The user's vetoed dialogues, with the experts' reasons in `dialogue.vetoes`, without the experts' names.

    read: those whose reasons the author has read, instead of those still to read.
    """
    reasons = ExpertReview.objects.filter(superseded_at=None, verdict=Verdict.VETO).defer("reviewer_id")
    unread = reasons.filter(dialogue=OuterRef("dialogue"), seen_by_author_at=None)
    rows = Assignment.objects.filter(
        annotator=user,
        project=project,
        state=AssignmentState.SUBMITTED,
        dialogue__review_state=ReviewState.VETOED,
    ).order_by("-submitted_at")
    vetoed = rows.filter(~Exists(unread) if read else Exists(unread))
    return _with_opening(vetoed).prefetch_related(
        Prefetch("dialogue__expert_reviews", reasons, to_attr="vetoes")
    )
