"""Starting, resuming and cleaning up trainings; `runs.job` carries them out."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.models import User
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from common.storage.shared_files import shared_models
from jobs.models import LIVE_STATES, JobState
from jobs.services import retry_job, start_job
from preference.child_process import QUEUE
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import folder_of_snapshot
from preference.registry.files import check_files
from preference.registry.models import ModelKind
from preference.registry.selectors.bases import BaseModel, resolve_base
from preference.runs.assessor_options import check_assessor_options, check_models
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.trainers import CLASSIFIERS, MOST_PROCESSES, Trainer, trainer_for
from preference.training.common.errors import TrainingError
from preference.training.common.recipes import with_settings
from projects.locking import lock_project
from projects.models import Project
from projects.transitions import record

KIND = "training"
MOST_CHANGES = 40


def start_training(
    *,
    run_id: UUID,
    project: Project,
    actor: User | None,
    snapshot: Snapshot,
    kind: str = ModelKind.JOINT,
    model: str = "",
    recipe: str = "",
    changes: Mapping[str, Any] | None = None,
    is_lora: bool = False,
    seed: int = 1,
    processes: int | None = None,
    question: str = "",
    models: Sequence[str] = (),
    enqueue: bool = True,
) -> TrainingRun:
    """Train in the background on a snapshot of the project. The same run_id again returns the first training.

    model: a registered model's name, a folder or a hub id; empty: the project's own, of a classifier: none. recipe:
    empty: the usual one of the kind. changes: settings that differ from the recipe's. processes: that divide every
    step, None: one for each GPU. question: of an assessor, models: of a classifier, see check_assessor_options. actor
    None: the command line, which may name any model. Raises Invalid (kind, recipe, changes, question, models, is_lora,
    processes), NotFound (model), Refusal no_authoring, no_labelling, no_base, wrong_kind, not_ready, file_gone,
    id_in_use.
    """
    trainer = trainer_for(kind, project)
    recipe = recipe or trainer.default_recipe
    settings = check_changes(trainer, recipe, changes or {}, is_lora=is_lora, seed=seed)
    seed = settings.pop("seed", seed)
    check_processes(trainer, processes)
    options: dict[str, Any] = {}
    if trainer.kind == ModelKind.ASSESSOR:
        options = check_assessor_options(snapshot, question, models, has_base=bool(model))
    elif trainer.kind == ModelKind.TOPICS:
        options = {"models": check_models(models, has_base=bool(model))}
    choices = {
        "kind": trainer.kind,
        "recipe": recipe,
        "changes": settings,
        "options": options,
        "is_lora": is_lora,
        "seed": seed,
        "processes": processes,
    }
    if run := _find_repeated(run_id, project, snapshot, model, choices):
        return run
    if snapshot.project_id != project.pk:
        raise Invalid(
            _("The snapshot belongs to another project."), _("Choose one of this project."), field="snapshot"
        )
    folder_of_snapshot(snapshot)
    base = _resolve_base(trainer, actor, project, model)
    if base.parent:
        check_files(base.parent)
    parameters = {"snapshot": snapshot.name, "kind": kind, "model": base.name, "recipe": recipe, **settings}
    with transaction.atomic():
        lock_project(project.pk)
        start_job(
            id=run_id,
            kind=KIND,
            project=project,
            actor=actor,
            parameters=parameters,
            queue=QUEUE,
            enqueue=enqueue,
        )
        return _store_run(run_id, project, actor, snapshot, base, choices)


def _resolve_base(trainer: Trainer, actor: User | None, project: Project, model: str) -> BaseModel:
    if trainer.kind in CLASSIFIERS and not model:
        return BaseModel(None, "")
    return resolve_base(actor, project, model, trainer.bases)


def _find_repeated(
    run_id: UUID, project: Project, snapshot: Snapshot, model: str, choices: Mapping[str, Any]
) -> TrainingRun | None:
    """The run that this id started before. Raises Refusal id_in_use if something else was asked for."""
    run = TrainingRun.objects.select_related("job", "project").filter(pk=run_id).first()
    if run:
        check_repeat(run, project_id=project.pk, snapshot_id=snapshot.pk, **choices)
        check_repeat(run.job.parameters, **({"model": model} if model else {}))
    return run


def _store_run(
    run_id: UUID,
    project: Project,
    actor: User | None,
    snapshot: Snapshot,
    base: BaseModel,
    choices: dict[str, Any],
) -> TrainingRun:
    newest = TrainingRun.objects.filter(project=project).aggregate(newest=Max("number"))["newest"]
    number = (newest or 0) + 1
    run, _created = TrainingRun.objects.get_or_create(
        id=run_id,
        defaults={
            "project": project,
            "job_id": run_id,
            "number": number,
            "snapshot": snapshot,
            "parent": base.parent,
            "base": base.source,
            # The files of a deleted project stay; a new project of the same name must not find them.
            "folder": f"{run_id.hex[:12]}/{project.slug}-{number}",
            "created_by": actor,
            **choices,
        },
    )
    return run


def check_changes(
    trainer: Trainer, name: str, changes: Mapping[str, Any], *, is_lora: bool, seed: int
) -> dict[str, Any]:
    """The changes with the recipe's types: a command line sends "32" for 32. Raises Invalid as changed_recipe."""
    changed = changed_recipe(trainer, name, changes, is_lora=is_lora, seed=seed)
    return {name.strip(): getattr(changed, name.strip()) for name in changes}


def changed_recipe(
    trainer: Trainer, name: str, changes: Mapping[str, Any], *, is_lora: bool, seed: int
) -> Any:
    """The recipe with its changes.

    Raises Invalid for an unknown recipe, a setting out of bounds, or LoRA where the recipe decides about it.
    """
    if name not in trainer.recipes:
        raise Invalid(
            _("There is no training recipe “%(name)s”.") % {"name": name[:40]},
            _("Choose one of: %(names)s.") % {"names": ", ".join(trainer.recipes)},
            field="recipe",
        )
    if len(changes) > MOST_CHANGES:
        raise Invalid(_("These are more settings than a recipe has."), field="changes")
    recipe = trainer.recipes[name]()
    if is_lora:
        recipe = _with_lora(trainer, recipe)
    try:
        return with_settings(recipe, [f"seed={seed}", *setting_arguments(changes)])
    except TrainingError as error:
        raise Invalid(error.cause, error.remedy, field="changes") from error


def check_processes(trainer: Trainer, processes: int | None) -> None:
    """Raise Invalid (processes) for a number that is out of bounds, or not for this kind of model."""
    if processes is None:
        return
    if not trainer.takes_processes:
        raise Invalid(
            _("Models of this kind are trained by one process."),
            _("Leave the number of processes out."),
            field="processes",
        )
    if not 1 <= processes <= MOST_PROCESSES:
        raise Invalid(
            _("A training has between 1 and %(most)d processes.") % {"most": MOST_PROCESSES},
            _("Leave the number out for one process on each GPU."),
            field="processes",
        )


def _with_lora(trainer: Trainer, recipe: Any) -> Any:
    if trainer.with_lora is None:
        raise Invalid(
            _("The recipe decides whether adapters are trained."),
            _("Leave LoRA out, and change the setting lora_rank."),
            field="is_lora",
        )
    return trainer.with_lora(recipe)


def setting_arguments(changes: Mapping[str, Any]) -> list[str]:
    """Settings in the form of the trainer's command line: name=value."""
    words = {None: "none", True: "true", False: "false"}
    # 1 == True: only the words themselves are looked up.
    return [
        f"{name}={words[value] if value is None or isinstance(value, bool) else value}"
        for name, value in changes.items()
    ]


@transaction.atomic
def resume_training(*, run: TrainingRun, actor: User | None, enqueue: bool = True) -> TrainingRun:
    """Resume a stopped or failed training from its last checkpoint. Safe to repeat.

    Raises Refusal already_done, files_gone.
    """
    run = TrainingRun.objects.select_for_update(of=("self",)).select_related("job", "project").get(pk=run.pk)
    if run.job.state == JobState.DONE:
        raise Refusal("already_done", _("This training is finished."), _("Train its model further instead."))
    folder_of_run(run)
    retry_job(job=run.job, actor=actor, enqueue=enqueue)
    return run


@transaction.atomic
def remove_run_files(*, run: TrainingRun, actor: User | None) -> TrainingRun:
    """Free the space of a training without a model: checkpoints, curve, log. Safe to repeat.

    Raises Refusal not_ready while it runs, in_use while its model is there.
    """
    run = TrainingRun.objects.select_for_update(of=("self",)).select_related("job", "project").get(pk=run.pk)
    if run.job.state in LIVE_STATES:
        raise Refusal("not_ready", _("This training is still running."), _("Stop it first."))
    model = getattr(run, "model", None)
    if model is not None and model.folder:
        raise Refusal(
            "in_use",
            _("The model “%(name)s” is stored with the files of this training.") % {"name": model.slug},
            _("Remove the model; this also removes the files of its training."),
        )
    if run.folder:
        folder, run.folder = folder_of_run(run), ""
        run.save(update_fields=["folder"])
        record(run, kind="files_removed", project=run.project, actor=actor)
        transaction.on_commit(lambda: shared_models().remove(folder))
    return run
