"""What a controller may see of a sample.

In a blind sample a label leaves the server only after the controller's own judgement on it is stored. How many of each
class were drawn stays secret as well: with one dialogue left, it would reveal that dialogue's label.

A verdict shows everything. If it comes before the whole sample is judged, it cannot be undone (selectors/undoing.py).
"""

from collections.abc import Iterable, Sequence, Set
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import User
from annotation.batch_review.models import Judgement, LaterJudgement, Sample, SampleItem
from annotation.batch_review.selectors.eligibility import items_left_for, judgeable_by
from annotation.batch_review.selectors.reviewed_items import ReviewedItem
from annotation.tasks.models.rounds import RoundState
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of


def own_judgement(controller: User, item: SampleItem) -> Judgement | None:
    return Judgement.objects.filter(item=item, controller=controller, superseded_at=None).first()


def later_judgements(judgements: Iterable[Judgement]) -> dict[UUID, LaterJudgement]:
    """By judgement: the last answers that its controller gave after the label was shown. One query."""
    own = {(one.item_id, one.controller_id): one.pk for one in judgements}
    rows = LaterJudgement.objects.filter(item__in=[item for item, _controller in own]).order_by("judged_at")
    keys = ((own.get((row.item_id, row.controller_id)), row) for row in rows)
    return {key: row for key, row in keys if key}


def is_label_hidden(item: SampleItem, own: Judgement | None) -> bool:
    """Whether the label must not be shown: the sample is blind, in review, and the controller has not judged it."""
    return item.sample.is_blind and own is None and item.sample.round.state == RoundState.IN_REVIEW


def items_to_judge(user: User, project: Project, granted: Set[Capability]) -> QuerySet[SampleItem]:
    """What the person may still judge; until then, nothing that others said about it is shown.

    granted: the person's capabilities in the project.
    """
    if Capability.REVIEW not in granted:
        return SampleItem.objects.none()
    in_review = {"sample__round__project": project, "sample__round__state": RoundState.IN_REVIEW}
    return SampleItem.objects.filter(judgeable_by(user), **in_review)


def blind_items_for(user: User, project: Project, granted: Set[Capability]) -> QuerySet[SampleItem]:
    """What the person may still judge blind; no page shows the labels."""
    return items_to_judge(user, project, granted).filter(sample__is_blind=True)


def visible_items(controller: User, sample: Sample, reviewed: Sequence[ReviewedItem]) -> list[ReviewedItem]:
    """The reviewed items as the person may know them.

    If two controllers judge the sample, each sees only their own judgements until they have finished: the other one's
    totals would reveal what to answer.
    """
    if not sample.is_double or sample.round.state != RoundState.IN_REVIEW:
        return list(reviewed)
    is_controller = Capability.REVIEW in capabilities_of(controller, sample.round.project)
    if not is_controller or not items_left_for(controller, sample).exists():
        return list(reviewed)
    return [entry.only_by(controller) for entry in reviewed]
