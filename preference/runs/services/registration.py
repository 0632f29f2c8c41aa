"""Registering the model of a finished training."""

from dataclasses import dataclass, field
from itertools import chain, count, product
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from generation.generators import create_generator
from generation.models import BackendKind, Generator
from preference.registry.models import ModelKind, RegisteredModel
from preference.runs.files import MODEL, folder_of_run
from preference.runs.models import TrainingRun
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
    slug = free_slug(_wanted_slug(run))
    generator = _create_generator(run, slug) if run.kind == ModelKind.JOINT else None
    model = RegisteredModel.objects.create(
        project=run.project,
        kind=run.kind,
        slug=slug,
        parent=run.parent if trained.uses_base else None,
        base=run.base if trained.uses_base else "",
        snapshot=run.snapshot,
        training_run=run,
        config=trained.config,
        metrics=trained.metrics,
        report=trained.report,
        code_version=str(trained.config.get("commit", ""))[:80],
        folder=f"{run.folder}/{MODEL}",
        files=trained.files,
        bytes=sum(trained.files.values()),
        sha256=trained.sha256,
        version=trained.version,
        fault=trained.fault,
        remedy=trained.remedy,
        generator=generator,
        created_by=run.created_by,
    )
    data = {"slug": slug, "training": str(run.pk)}
    record(model, kind="registered", project=run.project, actor=run.created_by, data=data)
    return model


def _wanted_slug(run: TrainingRun) -> str:
    """ "chat-3", of evaluators "chat-paireval-3"."""
    if run.kind == ModelKind.JOINT:
        return f"{run.project.slug[:70]}-{run.number}"
    return f"{run.project.slug[:60]}-{run.kind}-{run.number}"


def _create_generator(run: TrainingRun, slug: str) -> Generator:
    options = generator_options(folder_of_run(run) / MODEL)
    return create_generator(
        actor=None, slug=slug, backend=BackendKind.HF, options=options, project=run.project
    )


def free_slug(wanted: str) -> str:
    """`wanted`, or if a model or generator has that name, `wanted` with the first free letter or letters."""
    taken = {*RegisteredModel.objects.filter(slug__startswith=wanted).values_list("slug", flat=True)}
    taken |= {*Generator.objects.filter(slug__startswith=wanted).values_list("slug", flat=True)}
    ends = ("".join(letters) for n in count(1) for letters in product(LETTERS, repeat=n))
    return next(name for name in chain([wanted], (wanted + end for end in ends)) if name not in taken)
