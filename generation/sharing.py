"""Sharing a project's trained model with another project.

A manager of the model's project offers it; a manager of the other project accepts. Either of them ends it. Both
projects get an event of every step.
"""

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Refusal
from generation.models import Generator
from projects.models import Project
from projects.transitions import record


@transaction.atomic
def offer_generator(*, actor: User | None, generator: Generator, project: Project) -> Generator:
    """Offer a project's trained model to another project. Safe to repeat.

    Raises Refusal "for_everybody", "own_model".
    """
    row = _lock_trained(generator)
    if row.project == project:
        raise Refusal(
            "own_model",
            _("“%(name)s” belongs to this project.") % {"name": row.slug},
            _("Enter the short name of another project."),
        )
    if not _is_in(row, project, "shared_with") and not _is_in(row, project, "offered_to"):
        row.offered_to.add(project)
        _record_for_both(row, project, "offered", actor)
    return row


@transaction.atomic
def accept_generator(*, actor: User | None, generator: Generator, project: Project) -> Generator:
    """Take up an offer: the project may choose the model from now on. Safe to repeat. Raises Refusal "not_offered"."""
    row = _lock_trained(generator)
    if _is_in(row, project, "shared_with"):
        return row
    if not _is_in(row, project, "offered_to"):
        raise Refusal(
            "not_offered",
            _("“%(name)s” is not offered to this project, or no longer.") % {"name": row.slug},
            _("Ask the manager of its project to offer it."),
        )
    _share(row, project, actor)
    return row


@transaction.atomic
def share_generator(*, actor: User | None, generator: Generator, project: Project) -> Generator:
    """Both steps at once, for operators. Safe to repeat. Raises Refusal "for_everybody"."""
    row = _lock_trained(generator)
    if row.project != project and not _is_in(row, project, "shared_with"):
        _share(row, project, actor)
    return row


@transaction.atomic
def stop_sharing(*, actor: User | None, generator: Generator, project: Project) -> Generator:
    """Withdraw or decline an offer, or end the sharing. Safe to repeat.

    A project that has chosen the model keeps it until it chooses another one.
    """
    row = _lock_trained(generator)
    if _is_in(row, project, "shared_with"):
        row.shared_with.remove(project)
        _record_for_both(row, project, "no_longer_shared", actor)
    elif _is_in(row, project, "offered_to"):
        row.offered_to.remove(project)
        _record_for_both(row, project, "offer_ended", actor)
    return row


def _lock_trained(generator: Generator) -> Generator:
    row = Generator.objects.select_for_update().get(pk=generator.pk)
    if row.project_id is None:
        raise Refusal(
            "for_everybody",
            _("Every project may use “%(name)s” already.") % {"name": row.slug},
            _("Only trained models belong to a project."),
        )
    return row


def _is_in(row: Generator, project: Project, relation: str) -> bool:
    return bool(getattr(row, relation).filter(pk=project.pk).exists())


def _share(row: Generator, project: Project, actor: User | None) -> None:
    row.offered_to.remove(project)
    row.shared_with.add(project)
    _record_for_both(row, project, "shared", actor)


def _record_for_both(row: Generator, project: Project, kind: str, actor: User | None) -> None:
    for each in (row.project, project):
        record(row, kind=kind, project=each, actor=actor, data={"with": project.slug})
