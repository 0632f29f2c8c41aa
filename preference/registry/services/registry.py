"""Registering what a training made, renaming and removing it."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count, product
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Invalid, Refusal
from generation.generators import create_generator
from generation.models import BackendKind, Generator
from jobs.models import LIVE_STATES
from preference.registry.files import MODEL, folder_of_run
from preference.registry.models import RegisteredModel, TrainingRun
from preference.registry.selectors.models import children_of, projects_using
from projects.models import Project, Protocol
from projects.transitions import record

EDITABLE = ("slug", "note")
SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
LONGEST_NOTE = 4000
LETTERS = "bcdefghijklmnopqrstuvwxyz"  # the first one is the one without a letter


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training left in its folder. version: as candidates will name it; fault, remedy: why it does not load."""

    config: dict[str, Any]
    metrics: dict[str, Any]
    files: dict[str, int]
    sha256: str
    version: str = ""
    fault: str = ""
    remedy: str = ""


def generator_options(folder: Path) -> dict[str, Any]:
    """Of the generator that serves a trained model. A model as small as the shipped one needs one thread."""
    threads = {"threads": settings.GENERATION_THREADS} if settings.GENERATION_THREADS else {}
    return {"model": str(folder), **threads}


@transaction.atomic
def register_model(*, run: TrainingRun, trained: Trained) -> RegisteredModel:
    """Store the model of a finished training and a generator of the same name. Once: again returns the first.

    Generators belong to administrators; this one may be made for an engineer, as its folder is ours.
    """
    TrainingRun.objects.select_for_update().only("pk").get(pk=run.pk)
    found = RegisteredModel.objects.filter(training_run=run).first()
    if found:
        return found
    slug = free_slug(f"{run.project.slug[:70]}-{run.number}")
    options = generator_options(folder_of_run(run) / MODEL)
    generator = create_generator(actor=None, slug=slug, backend=BackendKind.HF, options=options)
    model = RegisteredModel.objects.create(
        project=run.project,
        slug=slug,
        parent=run.parent,
        base=run.base,
        snapshot=run.snapshot,
        training_run=run,
        config=trained.config,
        metrics=trained.metrics,
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


def free_slug(wanted: str) -> str:
    """`wanted`, or where a model or a generator has that name, `wanted` with the first free letter, or letters."""
    taken = {*RegisteredModel.objects.filter(slug__startswith=wanted).values_list("slug", flat=True)}
    taken |= {*Generator.objects.filter(slug__startswith=wanted).values_list("slug", flat=True)}
    ends = ("".join(letters) for n in count(1) for letters in product(LETTERS, repeat=n))
    return next(name for name in chain([wanted], (wanted + end for end in ends)) if name not in taken)


@transaction.atomic
def update_model(
    *, model: RegisteredModel, actor: User | None, changes: Mapping[str, str]
) -> RegisteredModel:
    """Rename the model, with its generator, or change its note. Candidates keep the version that wrote them.

    Raises Invalid (slug, note), Refusal name_taken. Safe to repeat.
    """
    if unknown := set(changes) - set(EDITABLE):
        raise TypeError(f"no such field: {', '.join(sorted(unknown))}")
    row = (
        RegisteredModel.objects.select_for_update(of=("self",))
        .select_related("generator", "project")
        .get(pk=model.pk)
    )
    before = {name: getattr(row, name) for name in changes if getattr(row, name) != changes[name]}
    if not before:
        return row
    if len(changes.get("note", "")) > LONGEST_NOTE:
        raise Invalid(_("A note has at most %(n)d characters.") % {"n": LONGEST_NOTE}, field="note")
    if "slug" in before:
        _rename(row, changes["slug"])
    row.note = changes.get("note", row.note)
    row.save(update_fields=["slug", "note"])
    after = {name: changes[name] for name in before}
    record(row, kind="changed", project=row.project, actor=actor, data={"before": before, "after": after})
    return row


def _rename(row: RegisteredModel, slug: str) -> None:
    if not SLUG.fullmatch(slug):
        raise Invalid(_("Small letters, digits, - and _ only."), field="slug")
    others = RegisteredModel.objects.exclude(pk=row.pk).filter(slug=slug)
    generators = Generator.objects.filter(slug=slug).exclude(registered_model=row)
    if others.exists() or generators.exists():
        raise Refusal(
            "name_taken",
            _("There is a model named “%(name)s” already.") % {"name": slug},
            _("Choose another name."),
        )
    row.slug = slug
    if row.generator is not None:
        Generator.objects.filter(pk=row.generator.pk).update(slug=slug)


@transaction.atomic
def remove_model(*, model: RegisteredModel, actor: User | None) -> RegisteredModel:
    """Remove the files of a model and of its training; the row stays, for the lineage. Safe to repeat.

    Raises Refusal in_use where a project's candidates come from it, or something was trained from it.
    """
    row = (
        RegisteredModel.objects.select_for_update(of=("self",)).select_related(*REMOVED_WITH).get(pk=model.pk)
    )
    if not row.folder:
        return row
    _refuse_in_use(row)
    folder = folder_of_run(row.training_run)
    row.folder = row.training_run.folder = ""
    row.save(update_fields=["folder"])
    row.training_run.save(update_fields=["folder"])
    record(row, kind="files_removed", project=row.project, actor=actor, data={"slug": row.slug})
    transaction.on_commit(lambda: shutil.rmtree(folder, ignore_errors=True))
    return row


REMOVED_WITH = ("generator", "project", "training_run")


def _refuse_in_use(model: RegisteredModel) -> None:
    if project := projects_using(model.generator).first():
        raise Refusal(
            "in_use",
            _("The project “%(project)s” uses the model “%(name)s”.")
            % {"project": project.slug, "name": model.slug},
            _("Promote another model there first."),
        )
    if child := children_of(model).first():
        raise Refusal(
            "in_use",
            _("The model “%(child)s” was trained from “%(name)s”.")
            % {"child": child.slug, "name": model.slug},
            _("What others came from is kept."),
        )
    if model.trainings.filter(job__state__in=LIVE_STATES).exists():
        raise Refusal(
            "in_use",
            _("A training that begins from “%(name)s” is under way.") % {"name": model.slug},
            _("Stop it first."),
        )


def id_in_use() -> Refusal:
    return Refusal("id_in_use", _("This submission was used for something else."), _("Reload and try again."))


def check_trainable(project: Project) -> None:
    """Raises Refusal no_authoring: only where candidates are shown is there something to learn from."""
    if project.protocol != Protocol.AUTHORING:
        raise Refusal(
            "no_authoring",
            _("In this project nobody writes with candidates, so no model can be trained or used."),
            _("Choose an authoring project."),
        )
