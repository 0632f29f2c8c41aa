"""Renaming and removing trained models."""

import re
from collections.abc import Mapping

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Invalid, Refusal
from common.storage.shared_files import shared_models
from generation.models import Generator
from jobs.models import LIVE_STATES
from preference.registry.files import folder_of_all_files, models_root
from preference.registry.models import RegisteredModel
from preference.registry.selectors.trained_models import children_of, projects_using
from projects.models import Project, Protocol
from projects.transitions import record

EDITABLE = ("slug", "note")
SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
MAX_NOTE = 4000


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
    check_note(changes.get("note", ""))
    if "slug" in before:
        _rename(row, changes["slug"])
    row.note = changes.get("note", row.note)
    row.save(update_fields=["slug", "note"])
    after = {name: changes[name] for name in before}
    record(row, kind="changed", project=row.project, actor=actor, data={"before": before, "after": after})
    return row


def check_note(note: str) -> None:
    """Raises Invalid (note)."""
    if len(note) > MAX_NOTE:
        raise Invalid(_("A note has at most %(n)d characters.") % {"n": MAX_NOTE}, field="note")


def check_name(slug: str, *, of: RegisteredModel | None = None, field: str = "name") -> None:
    """Raises Invalid (field), and Refusal name_taken if another model than `of` has the name."""
    if not SLUG.fullmatch(slug):
        raise Invalid(_("Small letters, digits, - and _ only."), field=field)
    models, generators = RegisteredModel.objects.filter(slug=slug), Generator.objects.filter(slug=slug)
    if of is not None:
        models, generators = models.exclude(pk=of.pk), generators.exclude(registered_model=of)
    if models.exists() or generators.exists():
        raise Refusal(
            "name_taken",
            _("There is a model named “%(name)s” already.") % {"name": slug},
            _("Choose another name."),
        )


def _rename(row: RegisteredModel, slug: str) -> None:
    check_name(slug, of=row, field="slug")
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
    folder = models_root() / folder_of_all_files(row)
    row.folder = ""
    row.save(update_fields=["folder"])
    if row.training_run:
        row.training_run.folder = ""
        row.training_run.save(update_fields=["folder"])
    record(row, kind="files_removed", project=row.project, actor=actor, data={"slug": row.slug})
    transaction.on_commit(lambda: shared_models().remove(folder))
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
            _("A model is kept as long as models that were trained from it exist."),
        )
    if model.trainings.filter(job__state__in=LIVE_STATES).exists():
        raise Refusal(
            "in_use",
            _("A training that begins from “%(name)s” is under way.") % {"name": model.slug},
            _("Stop it first."),
        )


def check_trainable(project: Project) -> None:
    """Raises Refusal no_authoring: only where candidates are shown is there something to learn from."""
    if project.protocol != Protocol.AUTHORING:
        raise Refusal(
            "no_authoring",
            _("In this project nobody writes with candidates, so no model can be trained or used."),
            _("Choose an authoring project."),
        )
