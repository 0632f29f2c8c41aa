"""Undoes an import: removes its dialogues that nobody has begun with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from common.refusals import Refusal
from dialogues.models import Dialogue
from dialogues.services.storing import STORAGES
from jobs.models import LIVE_STATES, Job
from jobs.progress import Progress
from jobs.services import start_job
from projects.transitions import record

KIND = "undo_import"
BATCH = 200  # dialogues removed in one transaction
# Why a dialogue stays, by code; higher apps add what they know when they are ready.
KEPT_IF: dict[str, Callable[[], Q]] = {}
# Lock what else belongs to these dialogues, before the dialogues themselves are locked.
LOCKS: list[Callable[[Sequence[int]], None]] = []
REASONS: Mapping[str, str | Promise] = {
    "begun": gettext_lazy("somebody has started on them"),
    "reviewed": gettext_lazy("an expert has judged them"),
    "in_batch": gettext_lazy("they belong to a batch"),
    "gold": gettext_lazy("they are gold dialogues of the admission test"),
    "discussed": gettext_lazy("there is a thread about them"),
}


def undo_preview(job: Job) -> dict[str, Any]:
    """How many dialogues can be removed, and how many stay, by reason; a dialogue may stay for several reasons."""
    rows = Dialogue.objects.filter(import_job=job)
    kept = {code: rows.filter(condition()).count() for code, condition in KEPT_IF.items()}
    return {"removable": _removable(job).count(), "kept": {code: n for code, n in kept.items() if n}}


@transaction.atomic
def undo_import(*, job: Job, actor: User | None, request_id: UUID) -> Job:
    """Remove the import's dialogues that nobody has begun with, in a job. The same request_id returns the first job.

    Raises Refusal `not_ready` while it runs, `not_undoable` for ratings, `id_in_use`.
    """
    if job.state in LIVE_STATES:
        raise Refusal("not_ready", _("This import is still running."), _("Stop it first."))
    if job.parameters.get("format") in STORAGES:
        raise Refusal(
            "not_undoable", _("An import of ratings cannot be undone."), _("Leave its run out of the report.")
        )
    is_new = not Job.objects.filter(pk=request_id).exists()
    parameters = {"import": str(job.pk), "name": job.parameters.get("name", "")}
    started = start_job(id=request_id, kind=KIND, project=job.project, actor=actor, parameters=parameters)
    if is_new:
        record(
            job,
            kind="import_undone",
            project=job.project,
            actor=actor,
            data={"name": job.parameters.get("name", "")},
        )
    return started


def run_undo_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Remove the dialogues batch by batch; safe to run again after a kill."""
    imported = Job.objects.get(pk=job.parameters["import"])
    removed = job.result.get("removed", 0)  # by attempts that were stopped
    progress.start(total=removed + _removable(imported).count(), unit="dialogues")
    progress.report(removed)
    while ids := list(_removable(imported).order_by("pk").values_list("pk", flat=True)[:BATCH]):
        removed = _remove(imported, ids, counted_in=job)
        progress.report(removed)
    return {"removed": removed, "kept": Dialogue.objects.filter(import_job=imported).count()}


@transaction.atomic
def _remove(imported: Job, ids: Sequence[int], *, counted_in: Job) -> int:
    """How many the job has removed now. The count is stored with the removal, so no kill comes between them.

    Whoever takes one of them meanwhile keeps it: the condition is read again under the locks.
    """
    for lock in LOCKS:
        lock(ids)
    list(Dialogue.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk"))
    rows = list(_removable(imported).filter(pk__in=ids).values_list("pk", flat=True))
    Dialogue.objects.filter(pk__in=rows).delete()
    stored = Job.objects.select_for_update(no_key=True).get(pk=counted_in.pk)
    removed: int = stored.result.get("removed", 0) + len(rows)
    stored.result = {**stored.result, "removed": removed}
    stored.save(update_fields=["result"])
    return removed


def _removable(job: Job) -> QuerySet[Dialogue]:
    rows = Dialogue.objects.filter(import_job=job)
    for condition in KEPT_IF.values():
        rows = rows.exclude(condition())
    return rows
