"""Which dialogues experts read, their verdicts, and the progress of a project's review."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.tasks.models.work import Assignment
from common import clock
from common.refusals import NotAllowed, NotFound
from dialogues.models import Dialogue, DialogueState, Origin, ReviewState, Utterance
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for

# Experts read the dialogues written here, and imported ones if the project is set so.
FOR_EXPERTS = Q(origin=Origin.AUTHORED) | Q(project__authoring__review_imported=True)

VERDICT_OF = {ReviewState.PASSED: Verdict.PASS, ReviewState.VETOED: Verdict.VETO}


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """Finished dialogues of a project by review state. left_out: imported ones that experts do not read."""

    unreviewed: int
    passed: int
    vetoed: int
    left_out: int = 0

    @property
    def total(self) -> int:
        return self.unreviewed + self.passed + self.vetoed

    @property
    def reviewed(self) -> int:
        return self.passed + self.vetoed


@dataclass(frozen=True, slots=True)
class WaitingCounts:
    """The unreviewed dialogues from one expert's point of view. Every dialogue counts once.

    ready: the expert can claim it. own: the expert wrote it. judged: it has the expert's verdict and needs more.
    taken: enough other experts have read it or are reading it.
    """

    ready: int
    own: int
    judged: int
    taken: int


def counted_reviews(now: datetime | None = None) -> Q:
    """Select the reviews that count: verdicts, and claims that have not expired."""
    return Q(superseded_at=None) & (~Q(verdict="") | Q(claimed_until__gt=now or clock.now()))


def dialogues_to_review(project: Project) -> QuerySet[Dialogue]:
    """Finished dialogues without a decision."""
    return Dialogue.objects.filter(
        FOR_EXPERTS, project=project, state=DialogueState.FINISHED, review_state=ReviewState.UNREVIEWED
    )


def written_by(reviewer: User) -> Exists:
    """Whether the reviewer wrote the dialogue."""
    return Exists(Assignment.objects.filter(dialogue=OuterRef("pk"), annotator=reviewer))


def judged_by(reviewer: User) -> Exists:
    """Whether the dialogue has a verdict of the reviewer."""
    live = ExpertReview.objects.filter(dialogue=OuterRef("pk"), reviewer=reviewer, superseded_at=None)
    return Exists(live.exclude(verdict=""))


def has_enough_other_reviewers(reviewer: User, project: Project) -> Exists:
    """Whether as many others as the project requires have read the dialogue or are reading it."""
    others = ExpertReview.objects.filter(counted_reviews(), dialogue=OuterRef("pk")).exclude(
        reviewer=reviewer
    )
    read_by = others.order_by().values("dialogue").annotate(n=Count("id"))
    return Exists(read_by.filter(n__gte=project.authoring.experts_required))


def available_dialogues_for(reviewer: User, project: Project) -> QuerySet[Dialogue]:
    """The dialogues that the reviewer can claim."""
    return dialogues_to_review(project).filter(
        ~has_enough_other_reviewers(reviewer, project), ~judged_by(reviewer), ~written_by(reviewer)
    )


def waiting_counts_for(reviewer: User, project: Project) -> WaitingCounts:
    rows = dialogues_to_review(project).annotate(
        own=written_by(reviewer),
        judged=judged_by(reviewer),
        taken=has_enough_other_reviewers(reviewer, project),
    )
    others = Q(own=False, judged=False)
    counted = rows.aggregate(
        ready=Count("id", filter=others & Q(taken=False)),
        own_count=Count("id", filter=Q(own=True)),
        judged_count=Count("id", filter=Q(own=False, judged=True)),
        taken_count=Count("id", filter=others & Q(taken=True)),
    )
    return WaitingCounts(**{name.removesuffix("_count"): n for name, n in counted.items()})


def review_counts(project: Project) -> ReviewCounts:
    finished = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED)
    is_unreviewed = Q(review_state=ReviewState.UNREVIEWED)
    counted = finished.aggregate(
        unreviewed=Count("id", filter=is_unreviewed & FOR_EXPERTS),
        passed=Count("id", filter=Q(review_state=ReviewState.PASSED)),
        vetoed=Count("id", filter=Q(review_state=ReviewState.VETOED)),
        total=Count("id"),
    )
    total = counted.pop("total")
    return ReviewCounts(**counted, left_out=total - sum(counted.values()))


def dialogue_to_review(reviewer: User, dialogue_id: int) -> Dialogue:
    """A dialogue that the reviewer may judge. Nothing about its author is read.

    Raises NotFound, and NotAllowed for the reviewer's own dialogue.
    """
    dialogue = Dialogue.objects.select_related("project__authoring").filter(pk=dialogue_id).first()
    if dialogue is None:
        raise dialogue_not_found()
    check_authoring_project(project_for(reviewer, dialogue.project.slug, Capability.REVIEW))
    check_not_own(reviewer, dialogue)
    return dialogue


def check_authoring_project(project: Project) -> None:
    """Raise NotFound in a labelling project, where controllers judge samples instead."""
    if project.protocol != Protocol.AUTHORING:
        raise NotFound(
            _("“%(slug)s” is not an authoring project.") % {"slug": project.slug},
            _("Choose an authoring project."),
        )


def dialogue_not_found() -> NotFound:
    return NotFound(_("There is no such dialogue."), _("It may have been removed."))


def check_not_own(reviewer: User, dialogue: Dialogue) -> None:
    if dialogue.assignments.filter(annotator=reviewer).exists():
        raise NotAllowed(_("You wrote this dialogue yourself."), _("Another expert has to judge it."))


def utterances_to_review(dialogue: Dialogue) -> list[dict[str, Any]]:
    fields = ("position", "speaker", "text", "action", "source", "edit_distance")
    return list(Utterance.objects.filter(dialogue=dialogue).order_by("position").values(*fields))


def own_review(reviewer: User, dialogue: Dialogue) -> ExpertReview | None:
    return ExpertReview.objects.filter(dialogue=dialogue, reviewer=reviewer, superseded_at=None).first()


def latest_own_verdict(reviewer: User, dialogue: Dialogue) -> ExpertReview | None:
    """The reviewer's newest verdict on the dialogue, even if it was undone: the form shows its text again."""
    decided = ExpertReview.objects.filter(dialogue=dialogue, reviewer=reviewer).exclude(verdict="")
    return decided.order_by("-decided_at").first()


def is_being_judged(dialogue: Dialogue) -> bool:
    """Whether an expert has judged the dialogue or is reading it, so that its author cannot take it back."""
    if dialogue.review_state != ReviewState.UNREVIEWED:
        return True
    return ExpertReview.objects.filter(counted_reviews(), dialogue=dialogue).exists()


def deciding_verdicts_on(dialogue: Dialogue) -> QuerySet[ExpertReview]:
    """The verdicts that decided about the dialogue, without the reviewers' names. Empty while it is undecided."""
    verdict = VERDICT_OF.get(ReviewState(dialogue.review_state), "")
    live = ExpertReview.objects.filter(dialogue=dialogue, superseded_at=None).exclude(verdict="")
    return live.filter(verdict=verdict).defer("reviewer_id").order_by("decided_at")


def count_verdicts_on(dialogue: Dialogue) -> int:
    """How many experts have given a verdict. Those still to judge learn the number only."""
    return ExpertReview.objects.filter(dialogue=dialogue, superseded_at=None).exclude(verdict="").count()


def own_verdicts(reviewer: User, project: Project) -> QuerySet[ExpertReview]:
    """The reviewer's own verdicts, newest first."""
    live = ExpertReview.objects.filter(reviewer=reviewer, dialogue__project=project, superseded_at=None)
    openings = Prefetch("dialogue__utterances", Utterance.objects.filter(position=0), to_attr="opening")
    return (
        live.exclude(verdict="").select_related("dialogue").prefetch_related(openings).order_by("-decided_at")
    )


def count_own_verdicts_today(reviewer: User, project: Project) -> int:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    live = ExpertReview.objects.filter(reviewer=reviewer, dialogue__project=project, superseded_at=None)
    return live.filter(decided_at__gte=midnight).exclude(verdict="").count()


def live_claim_of(reviewer: User, project: Project) -> ExpertReview | None:
    """The claim on the dialogue that the reviewer is reading."""
    claims = ExpertReview.objects.filter(
        reviewer=reviewer,
        dialogue__project=project,
        superseded_at=None,
        verdict="",
        claimed_until__gt=clock.now(),
    )
    return claims.first()
