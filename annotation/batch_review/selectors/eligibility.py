"""Who may judge which dialogues: never one's own work, and nothing that is already judged."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
from annotation.batch_review.models import Judgement, Sample, SampleItem
from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.tasks.models.rounds import Round, RoundState
from projects.models import Project


def labelled_by(user: User, until: datetime | None = None) -> Q:
    """Of tasks: those whose dialogue the person answered in any round, or whose label they decided; until: by then."""
    answered = Submission.objects.filter(annotator=user, task__dialogue=OuterRef("dialogue"))
    decided = FinalLabel.objects.filter(decided_by=user, dialogue=OuterRef("dialogue"))
    if until is not None:
        answered, decided = answered.filter(stored_at__lte=until), decided.filter(decided_at__lte=until)
    return Q(Exists(answered)) | Q(Exists(decided))


def fully_judged() -> Q:
    """Of sample items: judged by one controller, or by two if two judge the sample."""
    live = Judgement.objects.filter(item=OuterRef("pk"), superseded_at=None)
    return Exists(live.filter(number=2)) | (Q(sample__is_double=False) & Exists(live.filter(number=1)))


def judgeable_by(controller: User) -> Q:
    """Of sample items: those that the controller can still judge, in any sample.

    Never own work, no deleted dialogue, and nothing that is judged already.
    """
    own_judgement = Judgement.objects.filter(item=OuterRef("pk"), superseded_at=None, controller=controller)
    full = fully_judged()
    answered = Submission.objects.filter(annotator=controller, task__dialogue=OuterRef("task__dialogue"))
    decided = FinalLabel.objects.filter(decided_by=controller, dialogue=OuterRef("task__dialogue"))
    deleted = Q(task__dialogue=None)
    return ~deleted & ~Exists(own_judgement) & ~full & ~Exists(answered) & ~Exists(decided)


def waits_for(controller: User) -> Q:
    """Of rounds: a sample is to be drawn, the person can judge on, or everything is judged and the verdict is left."""
    items = SampleItem.objects.filter(sample__round=OuterRef("pk"))
    can_judge, unjudged = items.filter(judgeable_by(controller)), items.filter(judgements=None)
    return Q(state=RoundState.SEALED) | (
        Q(state=RoundState.IN_REVIEW) & (Q(Exists(can_judge)) | ~Q(Exists(unjudged)))
    )


def next_batch_for(controller: User, project: Project) -> int | None:
    """The number of the first batch that waits for the controller."""
    rows = Round.objects.filter(waits_for(controller), project=project)
    return rows.order_by("batch__number").values_list("batch__number", flat=True).first()


def items_left_for(controller: User, sample: Sample) -> QuerySet[SampleItem]:
    """The items of the sample that the controller can still judge, in the order drawn."""
    rows = SampleItem.objects.filter(judgeable_by(controller), sample=sample)
    return rows.select_related("final__schema", "task__dialogue").order_by("place")
