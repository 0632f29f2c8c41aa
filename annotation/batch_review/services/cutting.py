"""Cutting a labelling project's dialogues into batches."""

from collections.abc import Sequence
from itertools import cycle
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.selectors.batch_plan import batch_plan_for
from annotation.batch_review.selectors.cut_preview import preview_cut
from annotation.batch_review.services.regrouping import check_group
from annotation.batch_review.services.sealing import seal_if_complete
from annotation.labelling.selectors.gold import live_gold
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.assignment import reset_claim_cursors
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from projects.locking import lock_project
from projects.models import Event, Project, Protocol
from projects.selectors import groups_of
from projects.transitions import record_request

CUT = "annotation.cut"
MAX_BATCH_SIZE = 100_000


@transaction.atomic
def cut_batches(
    *,
    project: Project,
    actor: User | None,
    cut_id: UUID,
    size: int | None = None,
    groups: Sequence[str] | None = None,
    with_rest: bool = True,
) -> list[Batch]:
    """Cut the dialogues that are in no batch into batches, in the order in which they are given out.

    size: dialogues per batch; None: as the plan says. groups: who labels the batches, in turn; None: the project's
    groups; empty: anybody. with_rest: also cut the last, smaller batch. The same cut_id again returns the first result.
    Raises Invalid and Refusal: wrong_protocol, id_in_use, nothing_to_cut.
    """
    if project.protocol != Protocol.LABELLING:
        raise Refusal("wrong_protocol", _("Only labelling projects have batches."))
    lock_project(project.pk)
    sent = {"size": size, "groups": None if groups is None else list(groups), "with_rest": with_rest}
    earlier = Event.objects.filter(project=project, subject_type=CUT, subject_id=str(cut_id)).first()
    if earlier is not None:
        check_repeat(earlier.data.get("sent", sent), **sent)  # older events do not say what was sent
        return list(Batch.objects.filter(id__any_of=earlier.data["batches"]))
    size = _checked_size(project, size)
    groups = _checked_groups(project, groups)
    parts = _split(_lock_unbatched(project), size, with_rest=with_rest)
    batches = _create_batches(project, parts, groups)
    data = {"batches": [batch.pk for batch in batches], "size": size, "sent": sent}
    record_request(CUT, cut_id, kind="cut", project=project, actor=actor, data=data)
    cut = [batch.pk for batch in batches]
    for row in Round.objects.filter(
        batch__id__any_of=cut
    ):  # imported dialogues may have their labels already
        seal_if_complete(row)
    return batches


def unbatched_tasks(project: Project) -> QuerySet[Task]:
    """Tasks in no batch. Gold dialogues are left out: they get no label, so no batch may wait for them."""
    rows = Task.objects.filter(project=project, round=None).exclude(state=TaskState.WITHDRAWN)
    return rows.exclude(dialogue__in=live_gold(project).values("dialogue"))


def _checked_size(project: Project, size: int | None) -> int:
    size = batch_plan_for(project).batch_size if size is None else size
    if not 1 <= size <= MAX_BATCH_SIZE:
        raise Invalid(_("A batch has between 1 and 100,000 dialogues."), field="size")
    return size


def _checked_groups(project: Project, groups: Sequence[str] | None) -> Sequence[str]:
    known = groups_of(project)
    for name in groups or ():
        check_group(name, known)
    return known if groups is None else groups


def _lock_unbatched(project: Project) -> list[int]:
    """The tasks in the order in which they are given out; while they are locked, none of them becomes gold."""
    waiting = unbatched_tasks(project).select_for_update(no_key=True).order_by("pk")
    locked = set(waiting.values_list("pk", flat=True))
    # A dialogue that became gold while its lock was awaited is only visible to a new statement.
    tasks = unbatched_tasks(project).order_by("rank", "id").values_list("pk", flat=True)
    return [task for task in tasks if task in locked]


def _split(tasks: Sequence[int], size: int, *, with_rest: bool) -> list[Sequence[int]]:
    tasks = tasks[: len(tasks) - preview_cut(len(tasks), size, with_rest=with_rest).left]
    if not tasks:
        raise Refusal(
            "nothing_to_cut",
            _("There are not enough dialogues outside batches."),
            _("Import and plan dialogues first, or cut a smaller batch."),
        )
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def _create_batches(project: Project, parts: Sequence[Sequence[int]], groups: Sequence[str]) -> list[Batch]:
    last = Batch.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0
    turns = zip(parts, cycle(groups or [""]), strict=False)
    batches = []
    for number, (tasks, group) in enumerate(turns, start=last + 1):
        batch = Batch.objects.create(project=project, number=number, size=len(tasks))
        row = Round.objects.create(batch=batch, project=project, group=group)
        Task.objects.filter(id__any_of=list(tasks)).update(round=row, **({"group": group} if group else {}))
        batches.append(batch)
    reset_claim_cursors(project)
    return batches
