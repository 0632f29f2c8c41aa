"""Reading trained models: a project's list, where one came from, how it compares."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.models import AuthoringSettings
from common.refusals import NotFound
from generation.models import Generator
from jobs.models import Job
from preference.registry.models import Promotion, RegisteredModel
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

RELATED = ("project", "parent", "snapshot", "training_run__job", "generator", "created_by")
REGISTRATION = "registration"  # the kind of their jobs
MAX_LINEAGE = 100
MAX_COMPARED = 200  # evaluations; a report is some ten thousand characters


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
    while (parent_id := found[-1].parent_id) and len(found) < MAX_LINEAGE:
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


def registrations_of(project: Project) -> QuerySet[Job]:
    """The jobs that register models trained elsewhere, the newest first."""
    rows = Job.objects.filter(project=project, kind=REGISTRATION)
    return rows.select_related("project", "created_by").order_by("-created_at", "-pk")


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
