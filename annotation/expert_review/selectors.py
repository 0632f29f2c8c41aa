"""What experts read, and how far the reviewing is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.tasks.models.work import Assignment
from common.refusals import NotAllowed, NotFound
from dialogues.models import Dialogue, DialogueState, Origin, ReviewState, Utterance
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for

# The dialogues that wait for experts: those written here, and imported ones where the project's experts read them too.
FOR_EXPERTS = Q(origin=Origin.AUTHORED) | Q(project__authoring__review_imported=True)

VERDICT_OF = {ReviewState.PASSED: Verdict.PASS, ReviewState.VETOED: Verdict.VETO}


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """Finished dialogues of a project by review state. left_out: imported ones that experts do not read here."""

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
class Waiting:
    """The unreviewed dialogues as one expert sees them; every dialogue counts once.

    ready: the expert can be given it. own: the expert wrote it. judged: the expert has, and others are still wanted.
    taken: as many others as are wanted have read it or are reading.
    """

    ready: int
    own: int
    judged: int
    taken: int


def counting(now: datetime | None = None) -> Q:
    """Reviews that count: verdicts, and claims that still last."""
    return Q(superseded_at=None) & (~Q(verdict="") | Q(claimed_until__gt=now or timezone.now()))


def unreviewed(project: Project) -> QuerySet[Dialogue]:
    return Dialogue.objects.filter(
        FOR_EXPERTS, project=project, state=DialogueState.FINISHED, review_state=ReviewState.UNREVIEWED
    )


def own_of(reviewer: User) -> Exists:
    """Whether the person wrote the dialogue."""
    return Exists(Assignment.objects.filter(dialogue=OuterRef("pk"), annotator=reviewer))


def judged_by(reviewer: User) -> Exists:
    live = ExpertReview.objects.filter(dialogue=OuterRef("pk"), reviewer=reviewer, superseded_at=None)
    return Exists(live.exclude(verdict=""))


def taken_from(reviewer: User, project: Project) -> Exists:
    """Whether as many others as the project wants have read the dialogue or are reading it."""
    others = ExpertReview.objects.filter(counting(), dialogue=OuterRef("pk")).exclude(reviewer=reviewer)
    read_by = others.order_by().values("dialogue").annotate(n=Count("id"))
    return Exists(read_by.filter(n__gte=project.authoring.experts_required))


def ready_for(reviewer: User, project: Project) -> QuerySet[Dialogue]:
    """What the person can be given to read."""
    return unreviewed(project).filter(~taken_from(reviewer, project), ~judged_by(reviewer), ~own_of(reviewer))


def waiting_for(reviewer: User, project: Project) -> Waiting:
    rows = unreviewed(project).annotate(
        own=own_of(reviewer), judged=judged_by(reviewer), taken=taken_from(reviewer, project)
    )
    others = Q(own=False, judged=False)
    counted = rows.aggregate(
        ready=Count("id", filter=others & Q(taken=False)),
        n_own=Count("id", filter=Q(own=True)),
        n_judged=Count("id", filter=Q(own=False, judged=True)),
        n_taken=Count("id", filter=others & Q(taken=True)),
    )
    return Waiting(**{name.removeprefix("n_"): n for name, n in counted.items()})


def review_counts(project: Project) -> ReviewCounts:
    finished = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED)
    waits = Q(review_state=ReviewState.UNREVIEWED)
    counted = finished.aggregate(
        unreviewed=Count("id", filter=waits & FOR_EXPERTS),
        passed=Count("id", filter=Q(review_state=ReviewState.PASSED)),
        vetoed=Count("id", filter=Q(review_state=ReviewState.VETOED)),
        every=Count("id"),
    )
    every = counted.pop("every")
    return ReviewCounts(**counted, left_out=every - sum(counted.values()))


def dialogue_to_review(reviewer: User, dialogue_id: int) -> Dialogue:
    """A dialogue of a project in which the person reviews, and did not write it. Nothing of its author is read."""
    dialogue = Dialogue.objects.select_related("project__authoring").filter(pk=dialogue_id).first()
    if dialogue is None:
        raise missing_dialogue()
    check_experts_read(project_for(reviewer, dialogue.project.slug, Capability.REVIEW))
    check_not_own(reviewer, dialogue)
    return dialogue


def check_experts_read(project: Project) -> None:
    """Raises NotFound in a labelling project, where samples are judged instead."""
    if project.protocol != Protocol.AUTHORING:
        raise NotFound(
            _("“%(slug)s” is not an authoring project.") % {"slug": project.slug},
            _("Choose an authoring project."),
        )


def missing_dialogue() -> NotFound:
    return NotFound(_("There is no such dialogue."), _("It may have been removed."))


def check_not_own(reviewer: User, dialogue: Dialogue) -> None:
    if dialogue.assignments.filter(annotator=reviewer).exists():
        raise NotAllowed(_("You wrote this dialogue yourself."), _("Another expert has to judge it."))


def utterances_to_review(dialogue: Dialogue) -> list[dict[str, Any]]:
    fields = ("position", "speaker", "text", "action", "source", "edit_distance")
    return list(Utterance.objects.filter(dialogue=dialogue).order_by("position").values(*fields))


def own_review(reviewer: User, dialogue: Dialogue) -> ExpertReview | None:
    return ExpertReview.objects.filter(dialogue=dialogue, reviewer=reviewer, superseded_at=None).first()


def last_words(reviewer: User, dialogue: Dialogue) -> ExpertReview | None:
    """The person's newest verdict on the dialogue, also one that was undone: its words go back into the form."""
    decided = ExpertReview.objects.filter(dialogue=dialogue, reviewer=reviewer).exclude(verdict="")
    return decided.order_by("-decided_at").first()


def is_being_judged(dialogue: Dialogue) -> bool:
    """An expert has judged it or is reading it, so that its author cannot take it back."""
    if dialogue.review_state != ReviewState.UNREVIEWED:
        return True
    return ExpertReview.objects.filter(counting(), dialogue=dialogue).exists()


def verdicts_on(dialogue: Dialogue) -> QuerySet[ExpertReview]:
    """What decided about the dialogue, for its author: the reasons, not the names. Empty while it is undecided."""
    verdict = VERDICT_OF.get(ReviewState(dialogue.review_state), "")
    live = ExpertReview.objects.filter(dialogue=dialogue, superseded_at=None).exclude(verdict="")
    return live.filter(verdict=verdict).defer("reviewer_id").order_by("decided_at")


def readers_of(dialogue: Dialogue) -> int:
    """How many experts have given a verdict. What they said is told to nobody who is to judge."""
    return ExpertReview.objects.filter(dialogue=dialogue, superseded_at=None).exclude(verdict="").count()


def verdicts_of(reviewer: User, project: Project) -> QuerySet[ExpertReview]:
    """The expert's own verdicts, newest first, so that one can be looked at again and undone."""
    mine = ExpertReview.objects.filter(reviewer=reviewer, dialogue__project=project, superseded_at=None)
    openings = Prefetch("dialogue__utterances", Utterance.objects.filter(position=0), to_attr="opening")
    return (
        mine.exclude(verdict="").select_related("dialogue").prefetch_related(openings).order_by("-decided_at")
    )


def verdicts_today(reviewer: User, project: Project) -> int:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    mine = ExpertReview.objects.filter(reviewer=reviewer, dialogue__project=project, superseded_at=None)
    return mine.filter(decided_at__gte=midnight).exclude(verdict="").count()


def claim_of(reviewer: User, project: Project) -> ExpertReview | None:
    """The dialogue that the person is reading."""
    claims = ExpertReview.objects.filter(
        reviewer=reviewer,
        dialogue__project=project,
        superseded_at=None,
        verdict="",
        claimed_until__gt=timezone.now(),
    )
    return claims.first()
