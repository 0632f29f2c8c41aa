"""What experts read, and how far the reviewing is."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.errors import NotFound
from accounts.models import User
from annotation.models import ExpertReview
from dialogues.models import Dialogue, DialogueState, ReviewState, Utterance
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """Finished dialogues of a project by review state."""

    unreviewed: int
    passed: int
    vetoed: int

    @property
    def total(self) -> int:
        return self.unreviewed + self.passed + self.vetoed


def review_counts(project: Project) -> ReviewCounts:
    finished = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED)
    states = {state: Count("id", filter=Q(review_state=state)) for state in ReviewState.values}
    return ReviewCounts(**finished.aggregate(**states))


def dialogue_to_review(reviewer: User, dialogue_id: int) -> Dialogue:
    """A dialogue of a project in which the person reviews. Nothing of its author is read."""
    dialogue = Dialogue.objects.select_related("project__authoring").filter(pk=dialogue_id).first()
    if dialogue is None:
        raise NotFound(_("There is no such dialogue."), _("It may have been removed."))
    project_for(reviewer, dialogue.project.slug, Capability.REVIEW)
    return dialogue


def utterances_to_review(dialogue: Dialogue) -> list[dict[str, Any]]:
    fields = ("position", "speaker", "text", "action", "source", "edit_distance")
    return list(Utterance.objects.filter(dialogue=dialogue).order_by("position").values(*fields))


def own_review(reviewer: User, dialogue: Dialogue) -> ExpertReview | None:
    return ExpertReview.objects.filter(dialogue=dialogue, reviewer=reviewer, superseded_at=None).first()


def verdicts_of(reviewer: User, project: Project) -> QuerySet[ExpertReview]:
    """The expert's own verdicts, newest first, so that one can be looked at again and undone."""
    mine = ExpertReview.objects.filter(reviewer=reviewer, dialogue__project=project, superseded_at=None)
    return mine.exclude(verdict="").select_related("dialogue").order_by("-decided_at")
