"""Base models: what a training can start from and an evaluation can be compared with."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.models import AuthoringSettings
from common.refusals import NotFound, Refusal
from generation.models import BackendKind
from preference.registry.models import ModelKind, RegisteredModel
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of


@dataclass(frozen=True, slots=True)
class BaseModel:
    """What a training begins from: a registered model, or a folder or hub id.

    source: the folder or hub id, in the first case that at the beginning of the parent's lineage.
    """

    parent: RegisteredModel | None
    source: str

    @property
    def name(self) -> str:
        return self.parent.slug if self.parent else self.source


def base_of_project(project: Project) -> BaseModel | None:
    """The model that writes the project's candidates, where it is a local one."""
    authoring = AuthoringSettings.objects.select_related("generator").filter(project=project).first()
    if authoring is None:
        return None
    generator = authoring.generator
    if generator is None:
        return BaseModel(None, settings.GENERATION_MODEL)
    if generator.backend != BackendKind.HF:
        return None
    parent = RegisteredModel.objects.filter(generator=generator).first()
    return BaseModel(
        parent, parent.base if parent else str(generator.options.get("model", settings.GENERATION_MODEL))
    )


def selectable_bases(
    user: User, project: Project, kinds: Sequence[str] = (ModelKind.JOINT,)
) -> list[BaseModel]:
    """What the person may begin a training from, the project's own model first. Administrators may name any other.

    kinds: of registered models that fit.
    """
    own = base_of_project(project)
    trained = RegisteredModel.objects.filter(project=project, kind__in=kinds).exclude(folder="")
    listed = [BaseModel(None, name) for name in (settings.GENERATION_MODEL, *settings.TRAINING_BASE_MODELS)]
    found: dict[str, BaseModel] = {}
    for base in [*([own] if own else []), *(BaseModel(model, model.base) for model in trained), *listed]:
        found.setdefault(base.name, base)
    return list(found.values())


def resolve_base(
    user: User | None, project: Project, name: str, kinds: Sequence[str] = (ModelKind.JOINT,)
) -> BaseModel:
    """What a training that names its beginning so begins from; empty: the project's own model.

    kinds: of registered models that fit. Raises Refusal no_base, wrong_kind, and NotFound for what this person may not
    name. user None: the command line.
    """
    if not name:
        return _own_base(project)
    model = RegisteredModel.objects.select_related("project").filter(slug=name).first()
    if model and (user is None or Capability.TRAIN in capabilities_of(user, model.project)):
        if model.kind not in kinds:
            raise wrong_kind(model)
        return BaseModel(model, model.base)
    own = base_of_project(project)
    if own and name == own.name:  # perhaps a trained model of a project that this person is not in
        return own
    listed = (settings.GENERATION_MODEL, *settings.TRAINING_BASE_MODELS)
    if user is None or user.is_superuser or name in listed:
        return BaseModel(None, name)
    raise NotFound(
        _("There is no model “%(name)s” that you may train from.") % {"name": name[:80]},
        _("Choose a trained one, or ask an administrator to add it to TRAINING_BASE_MODELS."),
    )


def wrong_kind(model: RegisteredModel) -> Refusal:
    """For what only other kinds of models can do."""
    return Refusal(
        "wrong_kind",
        _("The model “%(name)s” is of the kind “%(kind)s” and cannot be used for this.")
        % {"name": model.slug, "kind": model.get_kind_display()},
        _("Choose a model that writes replies.")
        if not model.writes_replies
        else _("Choose a model of another kind."),
    )


def _own_base(project: Project) -> BaseModel:
    own = base_of_project(project)
    if own is None:
        raise Refusal(
            "no_base",
            _("The project's candidates do not come from a local model, so there is none to train."),
            _("Name the model to begin from."),
        )
    return own
