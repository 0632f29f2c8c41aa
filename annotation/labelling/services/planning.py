"""Plans dialogues for labelling."""

from collections.abc import Collection, Sequence
from random import Random
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings, Order
from annotation.tasks.models.work import PRIORITY_STEP, Task, TaskState
from annotation.tasks.services.assignment import reset_claim_cursors
from annotation.tasks.services.plans import BATCH, PLAN, is_planned
from common.database import refresh_statistics
from common.languages import primary_language
from common.refusals import Invalid, Refusal
from dialogues.models import Dialogue, DialogueState
from projects.models import Project
from projects.transitions import record_request

MAX_OVERLAP = 99

# original_place: the place without another order of the queue; see queue_order.
PLACES = """
UPDATE annotation_task task
SET place = CASE WHEN task.original_place IS NULL THEN listed.place ELSE task.place END,
    original_place = CASE WHEN task.original_place IS NULL THEN NULL ELSE listed.place END
FROM unnest(%(dialogues)s::bigint[], %(places)s::int[]) AS listed (dialogue, place)
WHERE task.project_id = %(project)s AND task.dialogue_id = listed.dialogue AND task.state = 'open'
"""


@transaction.atomic
def plan_labelling(
    *,
    project: Project,
    actor: User | None,
    plan_id: UUID,
    overlap: int | None = None,
    group: str = "",
    priority: int = 0,
    dialogue_ids: Collection[int] | None = None,
) -> int:
    """Create tasks for dialogues that have none and return how many. Sending plan_id again adds nothing.

    overlap: people per dialogue; None: the project's setting. group: only these annotators; "": anybody.
    dialogue_ids: plan only these dialogues. Raises Invalid, Refusal `wrong_protocol` or `id_in_use`.
    """
    settings = LabellingSettings.objects.select_for_update().filter(project=project).first()
    if settings is None:
        raise Refusal("wrong_protocol", _("Only labelling projects plan dialogues for labelling."))
    people = settings.overlap if overlap is None else overlap
    if not 1 <= people <= MAX_OVERLAP:
        raise Invalid(
            _("Between 1 and %(limit)d people can label a dialogue.") % {"limit": MAX_OVERLAP},
            field="overlap",
        )
    sent = {"group": group, "priority": priority} | ({} if overlap is None else {"overlap": overlap})
    if is_planned(plan_id, project, **sent):
        return 0
    waiting = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED, tasks=None).order_by(
        "id"
    )
    if dialogue_ids is not None:
        waiting = waiting.filter(pk__in=dialogue_ids)
    dialogues = list(waiting.values_list("pk", "language"))
    count = _create_tasks(settings, dialogues, people, group.strip(), priority)
    data = {"count": count, "overlap": people, "group": group, "priority": priority}
    record_request(PLAN, plan_id, kind="planned", project=project, actor=actor, data=data)
    return count


def plan_imported_dialogues(project: Project, dialogues: Sequence[Dialogue]) -> None:
    """Create tasks for imported dialogues if the project is set to do so; in the import's transaction."""
    settings = LabellingSettings.objects.filter(project=project).first()
    if settings is not None and settings.plan_imported:
        _create_tasks(settings, [(row.pk, row.language) for row in dialogues], settings.overlap, "", 0)


def follow_language(project: Project, dialogues: QuerySet[Dialogue], language: str) -> None:
    """Give tasks the language that their dialogues are about to get; in the same transaction."""
    settings = LabellingSettings.objects.filter(project=project).first()
    if settings is None:
        return
    tasks = Task.objects.filter(project=project, dialogue__in=dialogues)
    if tasks.update(language=primary_language(language)):
        reset_claim_cursors(project)


def _create_tasks(
    settings: LabellingSettings, dialogues: Sequence[tuple[int, str]], overlap: int, group: str, priority: int
) -> int:
    """dialogues: the primary key and the language of each."""
    project = settings.project
    Task.objects.bulk_create(
        (
            Task(
                project=project,
                dialogue_id=dialogue,
                overlap=overlap,
                open_slots=overlap,
                group=group,
                language=primary_language(language),
                priority=priority,
                place=queue_place(settings, dialogue),
            )
            for dialogue, language in dialogues
        ),
        batch_size=BATCH,
    )
    if dialogues:
        reset_claim_cursors(project)
    refresh_statistics(len(dialogues), Task)
    return len(dialogues)


def queue_place(settings: LabellingSettings, dialogue: int) -> int:
    """The dialogue's place in the queue: its id, or a number drawn from the id so that it is always the same."""
    if settings.order == Order.GIVEN:
        return dialogue % PRIORITY_STEP
    return Random(f"{settings.project_id}/{dialogue}").randrange(PRIORITY_STEP)


def reorder_open_tasks(settings: LabellingSettings) -> None:
    """Put the open tasks into the project's order; an order of the queue by another list stays in front."""
    open_tasks = Task.objects.filter(
        project=settings.project_id, state=TaskState.OPEN, dialogue__isnull=False
    )
    dialogues = list(open_tasks.order_by().values_list("dialogue", flat=True))
    places = [queue_place(settings, dialogue) for dialogue in dialogues]
    values: dict[str, Any] = {"project": settings.project_id, "dialogues": dialogues, "places": places}
    with connection.cursor() as cursor:
        cursor.execute(PLACES, values)
    reset_claim_cursors(settings.project)
