"""Changes overlap, group and priority of the dialogues that are not labelled yet."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.selectors.replanning import (
    REPLAN,
    REPLANNED,
    Replan,
    complete_tasks,
    differs,
    new_values,
    preview_replan,
    tasks_to_replan,
)
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import speakers_in
from annotation.labelling.services.planning import MAX_OVERLAP
from annotation.labelling.services.resolution import resolve_task
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.assignment import reset_claim_cursors
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from jobs.models import Job
from jobs.progress import Progress
from jobs.services import start_job
from projects.models import Event, Project
from projects.selectors import groups_of
from projects.transitions import record_request

RESOLVE_JOB = "resolve_tasks"
MAX_PRIORITY = 32_767
CHANGEABLE = ("overlap", "group", "priority")
MOST_UNDONE = 20_000  # tasks, whose dialogues are kept in the event


@dataclass(frozen=True, slots=True)
class Replanned:
    """changed: tasks. added, removed: assignments to give out. job: resolves the tasks that now have enough labels."""

    changed: int
    added: int
    removed: int
    job: Job | None = None


@transaction.atomic
def replan_tasks(*, project: Project, actor: User | None, request_id: UUID, replan: Replan) -> Replanned:
    """Give the tasks that are not done yet other values. Sending request_id again changes nothing.

    People keep what they hold: a task with more people than `overlap` keeps that number. Tasks that have enough labels
    are resolved by a job. Raises Invalid, Refusal `wrong_protocol` or `id_in_use`.
    """
    if not LabellingSettings.objects.select_for_update().filter(project=project).exists():
        raise Refusal("wrong_protocol", _("Only labelling projects plan dialogues for labelling."))
    check_replan(project, replan)
    if (stored := _stored(request_id, project, replan)) is not None:
        return stored
    preview = preview_replan(project, replan)
    data = {
        **replan.as_json(),
        "changed": preview.changed,
        "added": preview.added,
        "removed": preview.removed,
        "before": _former_values(project, replan),
    }
    if preview.changed:
        # Computed from each row as it is when it is locked: people claim at the same time.
        tasks_to_replan(project, replan).filter(differs(replan)).update(**new_values(replan))
        reset_claim_cursors(project)
    record_request(REPLAN, request_id, kind=REPLANNED, project=project, actor=actor, data=data)
    return Replanned(
        preview.changed, preview.added, preview.removed, resolve_complete_tasks(project, actor, request_id)
    )


def check_replan(project: Project, replan: Replan) -> None:
    """Raise Invalid unless something changes and every value is allowed."""
    if replan.overlap is None and replan.group is None and replan.priority is None:
        raise Invalid(_("Nothing would change."), _("Give a number of people, a group or a priority."))
    if replan.overlap is not None and not 1 <= replan.overlap <= MAX_OVERLAP:
        raise Invalid(
            _("Between 1 and %(limit)d people can label a dialogue.") % {"limit": MAX_OVERLAP},
            field="overlap",
        )
    if replan.priority is not None and abs(replan.priority) > MAX_PRIORITY:
        raise Invalid(
            _("A priority is between -%(limit)d and %(limit)d.") % {"limit": MAX_PRIORITY}, field="priority"
        )
    if replan.group and replan.group not in groups_of(project):
        raise Invalid(
            _("There is no group “%(name)s”.") % {"name": replan.group},
            _("Choose a group that has members."),
            field="group",
        )


def _stored(request_id: UUID, project: Project, replan: Replan) -> Replanned | None:
    """What an earlier request with this id did; None for a new one."""
    event = Event.objects.filter(subject_type=REPLAN, subject_id=str(request_id)).first()
    if event is None:
        return None
    # Early events lack the dialogues.
    check_repeat(
        {"of_dialogues": None, **event.data, "project": event.project_id},
        project=project.pk,
        **replan.as_json(),
    )
    job = Job.objects.filter(pk=request_id).first()
    return Replanned(event.data["changed"], event.data["added"], event.data["removed"], job)


def _former_values(project: Project, replan: Replan) -> list[dict[str, Any]] | None:
    """What `undo_replan` restores: the values before, each with its dialogues; None for too many tasks."""
    changed = [name for name in CHANGEABLE if getattr(replan, name) is not None]
    rows = tasks_to_replan(project, replan).filter(differs(replan)).order_by("pk")
    dialogues: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for dialogue, *values in rows.values_list("dialogue", *changed)[: MOST_UNDONE + 1]:
        dialogues[tuple(values)].append(dialogue)
    if sum(map(len, dialogues.values())) > MOST_UNDONE:
        return None
    return [
        {**dict(zip(changed, values, strict=True)), "dialogues": ids} for values, ids in dialogues.items()
    ]


def resolve_complete_tasks(project: Project, actor: User | None, request_id: UUID) -> Job | None:
    """Start the job that resolves tasks which have enough labels now; None if there are none."""
    if not complete_tasks(project).exists():
        return None
    return start_job(id=request_id, kind=RESOLVE_JOB, project=project, actor=actor, parameters={})


def run_resolve_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Resolve the tasks of the project that have enough labels, each in its own transaction. Safe to run again."""
    if job.project is None:
        return {"tasks": 0}
    tasks = list(complete_tasks(job.project).order_by("pk").values_list("pk", flat=True))
    progress.start(total=len(tasks), unit="dialogues")
    for done, task in enumerate(tasks, 1):
        _resolve_one(task)
        progress.report(done)
    return {"tasks": len(tasks)}


@transaction.atomic
def _resolve_one(task_id: int) -> None:
    locked = Task.objects.select_for_update(of=("self",), no_key=True).filter(
        pk=task_id, state=TaskState.OPEN
    )
    task = locked.select_related("project__labelling__schema").first()
    if task is None or task.project.labelling.schema is None:
        return
    settings, row = task.project.labelling, task.project.labelling.schema
    resolve_task(
        task=task, settings=settings, schema=load_schema(row), row=row, speakers=speakers_in(task.dialogue_id)
    )
