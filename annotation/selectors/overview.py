"""Counts for somebody's start page, for many projects at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q

from accounts.models import User
from annotation.models import HELD, Assignment, ExpertReview, Verdict
from dialogues.models import Dialogue, DialogueState, ReviewState
from projects.models import Project


@dataclass(frozen=True, slots=True)
class Overview:
    """open: what the person holds; came_back: the person's vetoed dialogues whose reasons are not read yet;
    unreviewed: what anybody finished and no expert has judged."""

    open: int = 0
    came_back: int = 0
    unreviewed: int = 0


def overviews(user: User, projects: Sequence[Project]) -> dict[int, Overview]:
    """By project id; two queries, however many projects."""
    unread = ExpertReview.objects.filter(
        dialogue=OuterRef("dialogue"), superseded_at=None, verdict=Verdict.VETO, seen_by_author_at=None
    )
    vetoed = Q(Exists(unread), state="submitted", dialogue__review_state=ReviewState.VETOED)
    mine = {
        row["project"]: row
        for row in Assignment.objects.filter(annotator=user, project__in=projects)
        .values("project")
        .annotate(open=Count("id", filter=Q(state__in=HELD)), came_back=Count("id", filter=vetoed))
    }
    waiting = dict(
        Dialogue.objects.filter(
            project__in=projects, state=DialogueState.FINISHED, review_state=ReviewState.UNREVIEWED
        )
        .values_list("project")
        .annotate(Count("id"))
    )
    none = {"open": 0, "came_back": 0}
    return {
        project.pk: Overview(
            mine.get(project.pk, none)["open"],
            mine.get(project.pk, none)["came_back"],
            waiting.get(project.pk, 0),
        )
        for project in projects
    }
