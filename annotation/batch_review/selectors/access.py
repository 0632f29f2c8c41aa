"""Fetching rounds, sample items and appeals for a person: permission is how you fetch."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import Appeal, Judgement, Sample, SampleItem
from annotation.batch_review.selectors.annotator_accuracy import judged_items_of
from annotation.batch_review.selectors.visibility import items_to_judge
from annotation.labelling.models.labels import Schema
from annotation.labelling.selectors.visibility import refuse_hidden_labels
from annotation.tasks.models.rounds import Round
from common.refusals import NotAllowed, NotFound
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

READERS = (Capability.REVIEW, Capability.READ_STATISTICS, Capability.CONFIGURE)


def round_for(user: User, pk: int, *any_of: Capability) -> Round:
    """A round of a project in which the person has one of the capabilities; none given: may see batches."""
    row = Round.objects.filter(pk=pk).select_related("batch", "project", "ended_by", "sample").first()
    if row is None:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    _check_any_capability(user, row.project, any_of or READERS)
    return row


def batches_project_for(user: User, slug: str) -> Project:
    """A project whose batches the person may see."""
    project = project_for(user, slug)
    _check_any_capability(user, project, READERS)
    return project


def _check_any_capability(user: User, project: Project, any_of: Sequence[Capability]) -> None:
    if capabilities_of(user, project).isdisjoint(any_of):
        project_for(user, project.slug, any_of[0])  # its refusal names the missing role


# ---- samples ---------------------------------------------------------------------------------------------------------


def sample_of_round(row: Round) -> Sample | None:
    rows = Sample.objects.filter(round=row.pk, round__project=row.project)
    return rows.select_related("round__batch", "round__project", "drawn_by").first()


def sample_item_for(user: User, pk: int) -> SampleItem:
    """A drawn dialogue of a project in which the person is a controller."""
    rows = SampleItem.objects.select_related("sample__round__project", "final__schema", "task__dialogue")
    item = rows.filter(pk=pk).first()
    if item is None:
        raise NotFound(_("There is no such dialogue in a sample."), _("Go back to the batch."))
    project_for(user, item.sample.round.project.slug, Capability.REVIEW)
    return item


def items_judged_by(controller: User, sample: Sample) -> list[int]:
    """The items that the controller has judged, the latest last."""
    rows = Judgement.objects.filter(item__sample=sample, controller=controller, superseded_at=None)
    return list(rows.order_by("judged_at").values_list("item_id", flat=True))


def sample_schemas(sample: Sample) -> list[Schema]:
    """The schema versions that the labels of the sample answer."""
    rows = Schema.objects.filter(final_labels__drawn__sample=sample)
    return list(rows.distinct().order_by("version"))


# ---- corrections and appeals -----------------------------------------------------------------------------------------


def disputable_item_for(user: User, pk: int) -> SampleItem:
    """A drawn dialogue whose correction the person may see: any for trainers; own work in ended rounds for others."""
    related = ("sample__round__project", "sample__round__batch", "final__schema", "task")
    item = SampleItem.objects.filter(pk=pk).select_related(*related).first()
    project = item.sample.round.project if item else None
    if item is None or project is None or not (granted := capabilities_of(user, project)):
        raise NotFound(_("There is no such dialogue in a sample."), _("Go back to the list."))
    if items_to_judge(user, project, granted).filter(pk=pk).exists():
        raise refuse_hidden_labels()
    if Capability.DECIDE in granted or judged_items_of(user, project).filter(pk=pk).exists():
        return item
    raise NotAllowed(_("You did not label this dialogue, or its batch is still in review."))


def appeals_for(user: User, project: Project) -> QuerySet[Appeal]:
    """Every appeal for trainers, one's own for others; none on items that the person may still judge."""
    granted = capabilities_of(user, project)
    unseen = items_to_judge(user, project, granted).filter(pk=OuterRef("item"))
    rows = Appeal.objects.filter(~Exists(unseen), item__sample__round__project=project)
    if Capability.DECIDE not in granted:
        rows = rows.filter(by=user)
    return rows.select_related(
        "item__sample__round__batch", "item__sample__round__project", "item__final", "item__task", "by", "settled_by"
    )  # fmt: skip


def appeal_to_settle(user: User, pk: UUID) -> Appeal:
    """An appeal of a project in which the person is a trainer."""
    project = Project.objects.filter(rounds__sample__items__appeals=pk).first()
    if project is None:
        raise missing_appeal()
    appeal = appeals_for(user, project_for(user, project.slug, Capability.DECIDE)).filter(pk=pk).first()
    if appeal is None:
        raise missing_appeal()
    return appeal


def missing_appeal() -> NotFound:
    return NotFound(_("There is no such appeal."), _("Go back to the list."))


def corrections_by_item(items: Iterable[int]) -> dict[int, Judgement]:
    """The judgement that counts for each item."""
    rows = Judgement.objects.filter(item__in=list(items), superseded_at=None, number=1)
    return {judgement.item_id: judgement for judgement in rows}
