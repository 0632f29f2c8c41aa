"""Reading trained models: a project's list, where one came from, how it compares."""

from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from accounts.errors import NotFound
from accounts.models import User
from annotation.models import AuthoringSettings
from generation.models import Generator
from jobs.models import JobState
from preference.models import Evaluation, Promotion, RegisteredModel, Snapshot
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

RELATED = ("project", "parent", "snapshot", "training_run__job", "generator", "created_by")
LONGEST_LINEAGE = 100
MOST_COMPARED = 200  # evaluations; a report is some ten thousand characters


def models_of(project: Project) -> QuerySet[RegisteredModel]:
    """The project's models, the newest first."""
    rows = RegisteredModel.objects.filter(project=project).select_related(*RELATED)
    return rows.order_by("-created_at", "-id")


def model_for(user: User, slug: str) -> RegisteredModel:
    """The model, for members of its project who may train."""
    model = RegisteredModel.objects.select_related(*RELATED).filter(slug=slug).first()
    if model is None or Capability.TRAIN not in capabilities_of(user, model.project):
        raise NotFound(_("There is no such model."), _("It may belong to a project that you have left."))
    return model


def lineage_of(model: RegisteredModel) -> list[RegisteredModel]:
    """From the model back to the first that was trained; what that one began from is its `base`."""
    found = [model]
    while (parent_id := found[-1].parent_id) and len(found) < LONGEST_LINEAGE:
        found.append(RegisteredModel.objects.select_related(*RELATED).get(pk=parent_id))
    return found


def children_of(model: RegisteredModel) -> QuerySet[RegisteredModel]:
    return RegisteredModel.objects.filter(parent=model).select_related(*RELATED)


def projects_using(generator: Generator | None) -> QuerySet[Project]:
    """The projects whose candidates, or half of them, come from it now."""
    if generator is None:
        return Project.objects.none()
    using = AuthoringSettings.objects.filter(Q(generator=generator) | Q(second_generator=generator))
    return Project.objects.filter(pk__in=using.values("project"))


def evaluations_of(project: Project, model: RegisteredModel | None = None) -> QuerySet[Evaluation]:
    """The project's evaluations, or those of one model, the newest first."""
    rows = Evaluation.objects.filter(project=project) if model is None else model.evaluations.all()
    related = ("job", "project", "snapshot", "model")
    return rows.select_related(*related).defer("snapshot__card").order_by("-created_at", "-id")


def evaluation_for(user: User, evaluation_id: UUID) -> Evaluation:
    """The evaluation, for members of its project who may train."""
    related = ("job", "project", "snapshot", "model")
    row = Evaluation.objects.select_related(*related).filter(pk=evaluation_id).first()
    if row is None or Capability.TRAIN not in capabilities_of(user, row.project):
        raise NotFound(_("There is no such evaluation."), _("It may belong to a project that you have left."))
    return row


@dataclass(frozen=True, slots=True)
class Comparison:
    """Models that were evaluated on the same data: the newest report of each, the newest model first."""

    snapshot: Snapshot
    split: str
    rows: tuple[Evaluation, ...]


def comparisons_of(project: Project) -> list[Comparison]:
    """What can be compared fairly, by snapshot and split, the newest snapshot first; of the newest MOST_COMPARED
    evaluations. One query."""
    done = evaluations_of(project).filter(job__state=JobState.DONE)[:MOST_COMPARED]
    groups: dict[tuple[UUID, str], dict[str, Evaluation]] = defaultdict(dict)
    for row in done:
        name = row.model.slug if row.model else row.base
        groups[row.snapshot_id, row.split].setdefault(name, row)
    made = [
        Comparison(next(iter(rows.values())).snapshot, split, tuple(rows.values()))
        for (_snapshot, split), rows in groups.items()
    ]
    return sorted(made, key=lambda one: one.snapshot.created_at, reverse=True)


def promotions_of(project: Project) -> QuerySet[Promotion]:
    """How the project's model changed, the newest first."""
    related = ("before", "after", "actor", "undone_by", "undoes", "project")
    return Promotion.objects.filter(project=project).select_related(*related).order_by("-created_at", "-id")


@dataclass(frozen=True, slots=True)
class CurrentModel:
    """What writes a project's candidates. generator None: the server's own model; model: where it was trained here."""

    generator: Generator | None
    model: RegisteredModel | None

    @property
    def name(self) -> str | None:
        return self.generator.slug if self.generator else None


def current_model(project: Project) -> CurrentModel | None:
    """None for a project that is not written with candidates."""
    settings = AuthoringSettings.objects.select_related("generator").filter(project=project).first()
    if settings is None:
        return None
    model = (
        RegisteredModel.objects.filter(generator=settings.generator_id).first()
        if settings.generator_id
        else None
    )
    return CurrentModel(settings.generator, model)


def promotion_to_undo(project: Project) -> Promotion | None:
    """The newest promotion that was not taken back and takes none back itself."""
    return promotions_of(project).filter(undoes=None, undone_by=None).first()
