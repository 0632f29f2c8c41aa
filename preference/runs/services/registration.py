"""Registering the model of a finished training, here or elsewhere."""

from dataclasses import dataclass, field
from itertools import chain, count, product
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.text import slugify

from accounts.models import User
from generation.generators import create_generator
from generation.models import BackendKind, Generator
from preference.registry.files import models_root
from preference.registry.incoming import TrainedFolder
from preference.registry.models import ModelKind, RegisteredModel
from preference.registry.services.incoming import Origin
from preference.registry.services.trained_models import check_name
from preference.runs.files import MODEL
from preference.runs.models import TrainingRun
from projects.locking import lock_project
from projects.models import Project
from projects.transitions import record

LETTERS = "bcdefghijklmnopqrstuvwxyz"  # "a" is the name without a letter


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a training produced. version: recorded with its candidates. fault, remedy: why the model does not load.

    report: as in RegisteredModel. uses_base: False if the model was trained from scratch beside the base.
    """

    config: dict[str, Any]
    metrics: dict[str, Any]
    files: dict[str, int]
    sha256: str
    version: str = ""
    fault: str = ""
    remedy: str = ""
    report: dict[str, Any] = field(default_factory=dict)
    uses_base: bool = True


def generator_options(folder: Path) -> dict[str, Any]:
    """Options of the generator that serves a trained model; GENERATION_THREADS as for the server's own model."""
    threads = {"threads": settings.GENERATION_THREADS} if settings.GENERATION_THREADS else {}
    return {"model": str(folder), **threads}


@transaction.atomic
def register_model(*, run: TrainingRun, trained: TrainingResult) -> RegisteredModel:
    """Store the model of a finished training. A second call returns the first model.

    A model that writes replies gets a generator of the same name; evaluators have none. Only administrators create
    generators, but this one is safe for an engineer, because the server wrote its folder.
    """
    TrainingRun.objects.select_for_update().only("pk").get(pk=run.pk)
    existing = RegisteredModel.objects.filter(training_run=run).first()
    if existing:
        return existing
    return _store_model(
        trained,
        project=run.project,
        kind=run.kind,
        slug=free_slug(_wanted_slug(run)),
        parent=run.parent if trained.uses_base else None,
        base=run.base if trained.uses_base else "",
        snapshot=run.snapshot,
        training_run=run,
        folder=f"{run.folder}/{MODEL}",
        created_by=run.created_by,
    )


@transaction.atomic
def register_elsewhere(
    *,
    project: Project,
    actor: User | None,
    trained: TrainingResult,
    origin: Origin,
    folder: str,
    slug: str,
    note: str,
) -> RegisteredModel:
    """Store a model that was trained elsewhere, as register_model does. The same files again give the first model.

    folder: of the copied model, relative to MODELS_ROOT. slug: as a person chose it, or empty. Raises Refusal
    name_taken.
    """
    lock_project(project.pk)
    if existing := model_with_files(project, trained.sha256):
        return existing
    if slug:
        check_name(slug)
    return _store_model(
        trained,
        project=project,
        kind=ModelKind.JOINT,
        slug=slug or free_slug(slug_of_folder(origin.folder, project)),
        note=note,
        parent=origin.parent,
        base=origin.parent.base if origin.parent else origin.folder.base,
        snapshot=origin.snapshot,
        folder=folder,
        created_by=actor,
    )


def model_with_files(project: Project, sha256: str) -> RegisteredModel | None:
    """The project's first model with exactly these files, unless they were removed."""
    rows = RegisteredModel.objects.filter(project=project, sha256=sha256).exclude(folder="")
    return rows.order_by("pk").first()


def slug_of_folder(folder: TrainedFolder, project: Project) -> str:
    """After the folder's name; after the project if nothing of that name is left."""
    return slugify(folder.name).strip("-_")[:70] or f"{project.slug[:60]}-elsewhere"


def _store_model(trained: TrainingResult, **facts: Any) -> RegisteredModel:
    kind, slug, project, folder = (facts[name] for name in ("kind", "slug", "project", "folder"))
    model = RegisteredModel.objects.create(
        **facts,
        config=trained.config,
        metrics=trained.metrics,
        report=trained.report,
        code_version=str(trained.config.get("commit", ""))[:80],
        files=trained.files,
        bytes=sum(trained.files.values()),
        sha256=trained.sha256,
        version=trained.version,
        fault=trained.fault,
        remedy=trained.remedy,
        generator=_create_generator(project, slug, folder) if kind == ModelKind.JOINT else None,
    )
    data = {"slug": slug, **({"training": str(model.training_run_id)} if model.training_run_id else {})}
    record(model, kind="registered", project=project, actor=model.created_by, data=data)
    return model


def _wanted_slug(run: TrainingRun) -> str:
    """ "chat-3", of evaluators "chat-paireval-3"."""
    if run.kind == ModelKind.JOINT:
        return f"{run.project.slug[:70]}-{run.number}"
    return f"{run.project.slug[:60]}-{run.kind}-{run.number}"


def _create_generator(project: Project, slug: str, folder: str) -> Generator:
    options = generator_options(models_root() / folder)
    return create_generator(actor=None, slug=slug, backend=BackendKind.HF, options=options, project=project)


def free_slug(wanted: str) -> str:
    """`wanted`, or if a model or generator has that name, `wanted` with the first free letter or letters."""
    taken = {*RegisteredModel.objects.filter(slug__startswith=wanted).values_list("slug", flat=True)}
    taken |= {*Generator.objects.filter(slug__startswith=wanted).values_list("slug", flat=True)}
    ends = ("".join(letters) for n in count(1) for letters in product(LETTERS, repeat=n))
    return next(name for name in chain([wanted], (wanted + end for end in ends)) if name not in taken)
