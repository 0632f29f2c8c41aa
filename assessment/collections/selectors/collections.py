"""Collections and how far they are, for managers."""

from collections.abc import Collection as Several
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.tasks.models.work import Task, TaskState
from assessment.collections.models import CollectedDialogue, CollectedState, Collection
from assessment.systems.models import System
from common.refusals import NotFound
from dialogues.models import Dialogue
from projects.models import Project


@dataclass(frozen=True, slots=True)
class CollectionProgress:
    """Numbers of dialogues. planned: with a task for the raters; rated: by everybody who should."""

    dialogues: int = 0
    made: int = 0
    missing: int = 0
    planned: int = 0
    rated: int = 0


def collections_of(project: Project) -> QuerySet[Collection]:
    """The collections of a project, the newest first."""
    rows = Collection.objects.filter(project=project).order_by("-created_at", "-pk")
    return rows.select_related(
        "project", "job__created_by", "job__project", "source", "run", "target__labelling__schema"
    )


def collection_in(project: Project, collection_id: UUID) -> Collection:
    """One collection of the project. Raises NotFound."""
    row = collections_of(project).filter(pk=collection_id).first()
    if row is None:
        raise NotFound(
            _("This project has no such collection."), _("Choose a collection from the list of the project.")
        )
    return row


def progress_of(collections: Sequence[Collection]) -> dict[UUID, CollectionProgress]:
    """How far each collection is. Two queries."""
    keys = [collection.pk for collection in collections]
    dialogues = CollectedDialogue.objects.filter(collection__in=keys).order_by().values("collection")
    made = dialogues.annotate(
        dialogues=Count("pk"),
        made=Count("pk", filter=Q(state=CollectedState.DONE)),
        missing=Count("pk", filter=Q(state=CollectedState.MISSING)),
    )
    tasks = Task.objects.filter(dialogue__collected_dialogue__collection__in=keys).order_by()
    rated = tasks.values("dialogue__collected_dialogue__collection").annotate(
        planned=Count("pk"), rated=Count("pk", filter=Q(state=TaskState.FINAL))
    )
    found = {key: CollectionProgress() for key in keys}
    for key, *counts in made.values_list("collection", "dialogues", "made", "missing"):
        found[key] = CollectionProgress(*counts)
    for key, planned, finals in rated.values_list(
        "dialogue__collected_dialogue__collection", "planned", "rated"
    ):
        found[key] = replace(found[key], planned=planned, rated=finals)
    return found


def count_contexts(collection: Collection) -> int:
    """Contexts or openings that the systems were given; fewer than requested if the source ran out."""
    rows = CollectedDialogue.objects.filter(collection=collection)
    return len(set(rows.values_list("number", flat=True)))


def systems_by_name(project: Project, names: Sequence[str]) -> tuple[System, ...]:
    """The systems of the project with these names. Raises NotFound for an unknown name."""
    found = {system.name: system for system in System.objects.filter(project=project, name__in=names)}
    for name in names:
        if name not in found:
            raise NotFound(
                _("This project has no system “%(name)s”.") % {"name": name},
                _("Choose a system from its list."),
            )
    return tuple(found[name] for name in names)


def collected_systems(drafts: Several[Dialogue]) -> dict[int, System]:
    """Which system made each draft of a collection, by the key of the draft. One query."""
    rows = CollectedDialogue.objects.filter(draft__in=drafts).exclude(system=None).select_related("system")
    return {row.draft_id: row.system for row in rows if row.draft_id and row.system}
