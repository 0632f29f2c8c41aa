"""What one controller sees of a sample: the next dialogues, how far it is, what verdict is still possible.

In a blind sample a label leaves the server only after the controller's own judgement on it is stored. How many of each
class were drawn stays here as well: with one dialogue left, it would tell its label.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import Appeal, Judgement, Sample, SampleItem
from annotation.batch_review.selectors.accuracy import judged_work
from annotation.batch_review.selectors.batches import (
    JUDGED,
    Drawn,
    Standing,
    Thresholds,
    can_judge,
    labelled_by,
    left_for,
    standing_of,
    thresholds,
    with_judgements,
)
from annotation.labelling.models.labels import Schema
from annotation.labelling.selectors.workbench import utterances_in
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Task
from common.refusals import NotAllowed, NotFound
from measures.acceptance import acceptance_number, passes
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

OPEN, RIGHT, WRONG, THEIRS_RIGHT, THEIRS_WRONG, OWN = ".rwRWo"
READERS = (Capability.REVIEW, Capability.READ_STATISTICS, Capability.CONFIGURE)


def round_for(user: User, pk: int, *any_of: Capability) -> Round:
    """A round of a project in which the person has one of these capabilities; without any: may see batches."""
    row = Round.objects.filter(pk=pk).select_related("batch", "project", "ended_by", "sample").first()
    if row is None:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    _let_in(user, row.project, any_of or READERS)
    return row


def batched_project(user: User, slug: str) -> Project:
    """A project whose batches the person may see."""
    project = project_for(user, slug)
    _let_in(user, project, READERS)
    return project


def _let_in(user: User, project: Project, any_of: Sequence[Capability]) -> None:
    if capabilities_of(user, project).isdisjoint(any_of):
        project_for(user, project.slug, any_of[0])  # says which role is missing


def item_for(user: User, pk: int, capability: Capability = Capability.REVIEW) -> SampleItem:
    """A drawn dialogue of a project in which the person has the capability."""
    rows = SampleItem.objects.select_related("sample__round__project", "final__schema", "task__dialogue")
    item = rows.filter(pk=pk).first()
    if item is None:
        raise NotFound(_("There is no such dialogue in a sample."), _("Go back to the batch."))
    project_for(user, item.sample.round.project.slug, capability)
    return item


def disputable_item(user: User, pk: int) -> SampleItem:
    """A drawn dialogue whose correction the person sees: a trainer any, annotators their own of ended rounds."""
    related = ("sample__round__project", "sample__round__batch", "final__schema", "task")
    item = SampleItem.objects.filter(pk=pk).select_related(*related).first()
    project = item.sample.round.project if item else None
    if item is None or project is None or not (granted := capabilities_of(user, project)):
        raise NotFound(_("There is no such dialogue in a sample."), _("Go back to the list."))
    if still_to_judge(user, project, granted).filter(pk=pk).exists():
        raise NotAllowed(
            _("You may be the one who judges it in a sample: its labels are shown when you have.")
        )
    if Capability.DECIDE in granted or judged_work(user, project).filter(pk=pk).exists():
        return item
    raise NotAllowed(_("You did not label this dialogue, or its batch is still in review."))


def appeals_for(user: User, project: Project) -> QuerySet[Appeal]:
    """Every appeal for who settles them, else one's own; none of what the person may still judge as the second."""
    granted = capabilities_of(user, project)
    unseen = still_to_judge(user, project, granted).filter(pk=OuterRef("item"))
    rows = Appeal.objects.filter(~Exists(unseen), item__sample__round__project=project)
    if Capability.DECIDE not in granted:
        rows = rows.filter(by=user)
    return rows.select_related(
        "item__sample__round__batch", "item__sample__round__project", "item__final", "item__task", "by", "settled_by"
    )  # fmt: skip


def corrections(items: Iterable[int]) -> dict[int, Judgement]:
    """The judgement that counts, by item."""
    rows = Judgement.objects.filter(item__in=list(items), superseded_at=None, number=1)
    return {one.item_id: one for one in rows}


# ---- one dialogue ----------------------------------------------------------------------------------------------------


def own_judgement(controller: User, item: SampleItem) -> Judgement | None:
    return Judgement.objects.filter(item=item, controller=controller, superseded_at=None).first()


def judged_by(controller: User, sample: Sample) -> list[int]:
    """The items that the controller judged, the last one last."""
    rows = Judgement.objects.filter(item__sample=sample, controller=controller, superseded_at=None)
    return list(rows.order_by("judged_at").values_list("item_id", flat=True))


def is_hidden(item: SampleItem, own: Judgement | None) -> bool:
    """Whether the label may not be shown: the sample is blind, in review, and the controller has not judged."""
    return item.sample.is_blind and own is None and item.sample.round.state == RoundState.IN_REVIEW


def still_to_judge(user: User, project: Project, granted: Set[Capability]) -> QuerySet[SampleItem]:
    """What the person may be the one to judge: what another said of it is not shown before.

    granted: the person's capabilities in the project; nothing for who judges nothing there.
    """
    if Capability.REVIEW not in granted:
        return SampleItem.objects.none()
    in_review = {"sample__round__project": project, "sample__round__state": RoundState.IN_REVIEW}
    return SampleItem.objects.filter(can_judge(user), **in_review)


def judged_blind(user: User, project: Project, granted: Set[Capability]) -> QuerySet[SampleItem]:
    """Those of them that are judged blind: their labels are shown nowhere else, either."""
    return still_to_judge(user, project, granted).filter(sample__is_blind=True)


def shown_to(controller: User, item: SampleItem) -> dict[str, Any]:
    """The dialogue with its label, where that may be seen, and the controller's own judgement."""
    own = own_judgement(controller, item)
    return {
        "id": item.pk,
        "place": item.place,
        "schema": item.final.schema.version,
        "language": item.task.dialogue.language if item.task.dialogue else "",
        "utterances": utterances_in(item.task.dialogue_id) if item.task.dialogue_id else [],
        "label": None if is_hidden(item, own) else item.final.answers,
        "judgement": own and {"answers": own.answers, "is_right": own.is_right, "reason": own.reason},
    }


def schemas_of(sample: Sample) -> list[Schema]:
    """The versions of the questions that the labels of the sample answer."""
    rows = Schema.objects.filter(final_labels__drawn__sample=sample)
    return list(rows.distinct().order_by("version"))


# ---- how far it is ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Progress:
    """cells: one sign a dialogue, in the order drawn: "." open, "r" and "w" judged by the person, "R" and "W" by
    somebody else, "o" the person's own work. spare: how many more may be wrong, None where samples are weighted.
    failing: classes that cannot pass any more. hides_drawn: how many were drawn of a class stays secret."""

    standing: Standing
    wanted: Thresholds
    cells: str
    left: int
    spare: int | None
    failing: list[str]
    hides_drawn: bool


def seen_by(controller: User, sample: Sample, drawn: Sequence[Drawn]) -> list[Drawn]:
    """What is said of the sample, as far as the person may know it: who judges all of it as the second controller
    counts alone until they have ended, since the first one's totals would tell what to say."""
    if not sample.is_double or sample.round.state != RoundState.IN_REVIEW:
        return list(drawn)
    if not _judges(controller, sample) or not left_for(controller, sample).exists():
        return list(drawn)
    return [one.by(controller) for one in drawn]


def _judges(user: User, sample: Sample) -> bool:
    return Capability.REVIEW in capabilities_of(user, sample.round.project)


def progress_of(controller: User, sample: Sample) -> Progress:
    items = list(SampleItem.objects.filter(sample=sample).order_by("place"))
    drawn = with_judgements(items, JUDGED)
    seen = seen_by(controller, sample, drawn)
    standing, wanted = standing_of(sample, seen), thresholds(sample)
    labelled = Task.objects.filter(labelled_by(controller), drawn__sample=sample)
    own = set(labelled.values_list("pk", flat=True))
    cells = "".join(_cell(one, controller, sample, is_own=one.item.task_id in own) for one in drawn)
    return Progress(
        standing,
        wanted,
        cells,
        cells.count(OPEN),
        None if sample.is_stratified else _spare(standing, wanted),
        _failing(standing, wanted),
        sample.is_blind and sample.round.state == RoundState.IN_REVIEW,
    )


def _cell(one: Drawn, controller: User, sample: Sample, *, is_own: bool) -> str:
    mine = next((said for said in one.judgements if said.controller_id == controller.pk), None)
    if mine:
        return RIGHT if mine.is_right else WRONG
    if is_own:
        return OWN
    if len(one.judgements) < (2 if sample.is_double else 1):
        return OPEN
    return THEIRS_RIGHT if one.is_right else THEIRS_WRONG


def _spare(standing: Standing, wanted: Thresholds) -> int:
    wrong = standing.judged - standing.right
    return standing.sample - acceptance_number(standing.sample, wanted.overall) - wrong


def _failing(standing: Standing, wanted: Thresholds) -> list[str]:
    if wanted.classes is None:
        return []
    share = wanted.classes
    return [
        tally.label
        for tally in standing.tallies
        if tally.sample and not passes(tally.at_most, tally.sample, share)
    ]
