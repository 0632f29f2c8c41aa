"""How much memory a training would take, before it is started."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Refusal
from preference.registry.files import folder_with
from preference.registry.incoming import CONFIG
from preference.registry.models import ModelKind
from preference.registry.selectors.bases import resolve_base
from preference.runs.services.trainings import changed_recipe, check_processes
from preference.runs.trainers import trainer_for
from preference.training.common.errors import TrainingError
from preference.training.joint.memory.assessment import Assessment, assess
from projects.models import Project


def memory_of_training(
    *,
    project: Project,
    actor: User | None,
    model: str = "",
    recipe: str = "",
    changes: Mapping[str, Any] | None = None,
    is_lora: bool = False,
    processes: int | None = None,
) -> Assessment:
    """What a joint training with these choices would take, beside what this machine has.

    The arguments are those of start_training. This machine is the one that answers: where workers have another, its
    GPUs are not seen. Raises Invalid (recipe, changes, is_lora, processes), NotFound (model), Refusal no_authoring,
    no_base, wrong_kind, file_gone, and not_plannable for a model whose configuration is not here or not known.
    """
    trainer = trainer_for(ModelKind.JOINT, project)
    chosen = changed_recipe(trainer, recipe or trainer.default_recipe, changes or {}, is_lora=is_lora, seed=1)
    check_processes(trainer, processes)
    base = resolve_base(actor, project, model, trainer.bases)
    source = str(folder_with(base.parent, CONFIG)) if base.parent else base.source
    try:
        return assess(source, chosen, processes=processes)
    except TrainingError as error:
        remedy = error.remedy or _("Start with a small token_budget and watch the memory.")
        raise Refusal("not_plannable", error.cause, remedy) from error
