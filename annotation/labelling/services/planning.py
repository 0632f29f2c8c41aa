"""Planning dialogues to be labelled."""

from collections.abc import Collection, Sequence
from random import Random
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings, Order
from annotation.tasks.models.work import PRIORITY_STEP, Task
from annotation.tasks.services.assignment import reset_claim_cursors
from annotation.tasks.services.plans import BATCH, PLAN, is_planned
from common.refusals import Invalid, Refusal
from dialogues.models import Dialogue, DialogueState
from projects.models import Event, Project

MAX_OVERLAP = 99


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
    """Make tasks of the project's dialogues that have none. The same plan_id again adds nothing. Returns how many.

    overlap: how many people label each (the project's, where it is None). group: only these annotators; "": anybody.
    dialogue_ids: of these dialogues only.
    """
    settings = LabellingSettings.objects.select_for_update().filter(project=project).first()
    if settings is None:
        raise Refusal("wrong_protocol", _("Only labelling projects plan dialogues to be labelled."))
    people = settings.overlap if overlap is None else overlap
    if not 1 <= people <= MAX_OVERLAP:
        raise Invalid(
            _("Between 1 and %(limit)d people can label a dialogue.") % {"limit": MAX_OVERLAP},
            field="overlap",
        )
    if is_planned(plan_id, project):
        return 0
    waiting = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED, tasks=None).order_by(
        "id"
    )
    if dialogue_ids is not None:
        waiting = waiting.filter(pk__in=dialogue_ids)
    made = _make_tasks(settings, list(waiting.values_list("pk", flat=True)), people, group.strip(), priority)
    Event.objects.create(
        project=project,
        subject_type=PLAN,
        subject_id=str(plan_id),
        kind="planned",
        actor=actor,
        data={"count": made, "overlap": people, "group": group, "priority": priority},
    )
    return made


def plan_imported_dialogues(project: Project, dialogues: Sequence[Dialogue]) -> None:
    """Imported dialogues of a labelling project become tasks, where it is set so; inside the import's transaction."""
    settings = LabellingSettings.objects.filter(project=project).first()
    if settings is not None and settings.plan_imported:
        _make_tasks(settings, [dialogue.pk for dialogue in dialogues], settings.overlap, "", 0)


def _make_tasks(
    settings: LabellingSettings, dialogues: Sequence[int], overlap: int, group: str, priority: int
) -> int:
    project = settings.project
    Task.objects.bulk_create(
        (
            Task(
                project=project,
                dialogue_id=dialogue,
                overlap=overlap,
                open_slots=overlap,
                group=group,
                priority=priority,
                place=queue_place(settings, dialogue),
            )
            for dialogue in dialogues
        ),
        batch_size=BATCH,
    )
    if dialogues:
        reset_claim_cursors(project)
    return len(dialogues)


def queue_place(settings: LabellingSettings, dialogue: int) -> int:
    """Where the dialogue stands: by its id as imported, or drawn from the id, so that it is the same every time."""
    if settings.order == Order.GIVEN:
        return dialogue % PRIORITY_STEP
    return Random(f"{settings.project_id}/{dialogue}").randrange(PRIORITY_STEP)
