"""The programs that train each kind of model, and what they take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from common.refusals import Invalid, Refusal
from preference.registry.models import ModelKind
from preference.registry.services.trained_models import check_trainable
from preference.training.assessor.recipe import AssessorRecipe
from preference.training.assessor.recipe import with_lora as assessor_with_lora
from preference.training.joint import recipe as joint
from preference.training.paireval import recipe as paireval
from projects.models import Project, Protocol

ONLY_RECIPE = "diqad"
MOST_PROCESSES = 64  # of one machine


@dataclass(frozen=True, slots=True)
class Trainer:
    """How one kind of model is trained: `python -m module *action --data … --output … --recipe …`.

    protocols: of the projects whose snapshots it learns from. recipes: by name, each makes a frozen dataclass of
    settings. with_lora: the same recipe with adapters; None if there is no option --lora. bases: kinds of registered
    models that it may begin from. names_recipe: whether there is an option --recipe. takes_processes: whether there is
    an option --processes.
    """

    kind: ModelKind
    module: str
    protocols: tuple[Protocol, ...]
    recipes: Mapping[str, Callable[[], Any]]
    default_recipe: str
    bases: tuple[ModelKind, ...]
    action: tuple[str, ...] = ()
    with_lora: Callable[[Any], Any] | None = None
    names_recipe: bool = True
    takes_processes: bool = False


TRAINERS: dict[str, Trainer] = {
    ModelKind.JOINT: Trainer(
        ModelKind.JOINT,
        "preference.training.joint",
        (Protocol.AUTHORING,),
        joint.RECIPES,
        "diamante",
        (ModelKind.JOINT,),
        with_lora=joint.with_lora,
        takes_processes=True,
    ),
    ModelKind.PAIREVAL: Trainer(
        ModelKind.PAIREVAL,
        "preference.training.paireval",
        (Protocol.AUTHORING,),
        paireval.RECIPES,
        "paper",
        (ModelKind.JOINT, ModelKind.PAIREVAL),
        action=("train",),
        takes_processes=True,
    ),
    ModelKind.ASSESSOR: Trainer(
        ModelKind.ASSESSOR,
        "preference.training.assessor",
        (Protocol.LABELLING,),
        {ONLY_RECIPE: AssessorRecipe},
        ONLY_RECIPE,
        (ModelKind.ASSESSOR,),
        with_lora=assessor_with_lora,
        names_recipe=False,
    ),
    ModelKind.TOPICS: Trainer(
        ModelKind.TOPICS,
        "preference.training.topics",
        (Protocol.AUTHORING, Protocol.LABELLING),
        {ONLY_RECIPE: AssessorRecipe},
        ONLY_RECIPE,
        (ModelKind.TOPICS,),
        action=("train",),
        with_lora=assessor_with_lora,
        names_recipe=False,
    ),
}
CLASSIFIERS = (ModelKind.ASSESSOR, ModelKind.TOPICS)  # several models are compared, the best network is kept


def trainer_for(kind: str, project: Project) -> Trainer:
    """Raises Invalid for an unknown kind, Refusal no_authoring or no_labelling if it cannot learn in this project."""
    trainer = TRAINERS.get(kind)
    if trainer is None:
        raise Invalid(
            _("There is no kind of training “%(name)s”.") % {"name": kind[:40]},
            _("Choose one of: %(names)s.") % {"names": ", ".join(TRAINERS)},
            field="kind",
        )
    if project.protocol in trainer.protocols:
        return trainer
    if Protocol.AUTHORING in trainer.protocols:
        check_trainable(project)
    raise Refusal(
        "no_labelling",
        _("In this project nobody labels dialogues, so no assessor can learn from it."),
        _("Choose a labelling project."),
    )


def kinds_of_project(project: Project) -> list[ModelKind]:
    """What can be trained on the project's snapshots, the usual kind first."""
    return [trainer.kind for trainer in TRAINERS.values() if project.protocol in trainer.protocols]


def recipe_names() -> list[str]:
    """Of all kinds, each once."""
    return sorted({name for trainer in TRAINERS.values() for name in trainer.recipes})
