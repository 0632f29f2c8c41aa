"""Batches of a labelling project: cut, sealed when every dialogue has its final label, opened anew when returned.

Locks are taken in the order round → tasks; who submits labels holds one task and reads the round without a lock. So a
round that is being sealed waits for submissions on their way, and those that come later find it sealed.

A project's row is locked without its key: whoever claims or submits refers to it when they commit, while they hold a
task that is waited for here.
"""

from collections.abc import Sequence
from itertools import cycle
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.batch_review.models import Relabel
from annotation.batch_review.selectors.batches import plan_of
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.selectors.gold import live_gold
from annotation.tasks.models.rounds import ROUND_MOVES, Batch, Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.assignment import came_free, uncount_withdrawn
from annotation.tasks.services.reasons import checked_reason
from common.refusals import Invalid, NotFound, Refusal
from projects.models import Event, Membership, Project, Protocol, Role
from projects.selectors import groups_of
from projects.transitions import move

CUT = "annotation.cut"
AT_ONCE = 5000


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

    size: dialogues per batch (the plan's, where it is None). groups: who labels them, in turns (the project's, where
    it is None; empty: anybody). with_rest: the last, smaller batch too. The same cut_id again cuts nothing.
    """
    if project.protocol != Protocol.LABELLING:
        raise Refusal("wrong_protocol", _("Only labelling projects have batches."))
    Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)
    done = Event.objects.filter(project=project, subject_type=CUT, subject_id=str(cut_id)).first()
    if done is not None:
        return list(Batch.objects.filter(pk__in=done.data["batches"]))
    plan = plan_of(project)
    size = plan.batch_size if size is None else size
    if not 1 <= size <= 100_000:
        raise Invalid(_("A batch has between 1 and 100,000 dialogues."), field="size")
    known = groups_of(project)
    for name in groups or ():
        check_group(name, known)
    tasks = _locked_unbatched(project)
    if not with_rest:
        tasks = tasks[: len(tasks) - len(tasks) % size]
    if not tasks:
        raise Refusal(
            "nothing_to_cut",
            _("There are not enough dialogues outside batches."),
            _("Import and plan dialogues first, or cut a smaller batch."),
        )
    parts = [tasks[at : at + size] for at in range(0, len(tasks), size)]
    made = _cut(project, parts, known if groups is None else groups)
    Event.objects.create(
        project=project,
        subject_type=CUT,
        subject_id=str(cut_id),
        kind="cut",
        actor=actor,
        data={"batches": [batch.pk for batch in made], "size": size},
    )
    for each in Round.objects.filter(batch__in=made):
        _seal(each, None, quietly=True)  # what had its labels before it was cut
    return made


def unbatched(project: Project) -> QuerySet[Task]:
    """Tasks that no batch holds. A dialogue of the admission test never gets a label, so no batch waits for it."""
    rows = Task.objects.filter(project=project, round=None).exclude(state=TaskState.WITHDRAWN)
    return rows.exclude(dialogue__in=live_gold(project).values("dialogue"))


def _locked_unbatched(project: Project) -> list[int]:
    """In the order in which they are given out. While they are locked, none becomes a gold dialogue."""
    waiting = unbatched(project).select_for_update(no_key=True).order_by("pk")
    locked = set(waiting.values_list("pk", flat=True))
    # Looked at once more: what had become gold while its lock was awaited is seen only by a new statement.
    tasks = unbatched(project).order_by("rank", "id").values_list("pk", flat=True)
    return [task for task in tasks if task in locked]


def _cut(project: Project, parts: Sequence[Sequence[int]], groups: Sequence[str]) -> list[Batch]:
    named = cycle(groups or [""])
    last = Batch.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0
    made = []
    for number, (tasks, group) in enumerate(zip(parts, named, strict=False), start=last + 1):
        batch = Batch.objects.create(project=project, number=number, size=len(tasks))
        opened = Round.objects.create(batch=batch, project=project, group=group)
        rows = Task.objects.filter(pk__in=tasks)
        rows.update(round=opened, **({"group": group} if group else {}))
        made.append(batch)
    came_free(project)
    return made


def check_group(name: str, known: Sequence[str]) -> None:
    """A group with members, or empty: anybody."""
    if name and name not in known:
        raise Invalid(
            _("There is no group “%(name)s”.") % {"name": name}, _("Choose one with members."), field="group"
        )


def locked_round(round_id: int) -> Round:
    """Its row, locked for the transaction."""
    row = (
        Round.objects.select_for_update(of=("self",))
        .select_related("batch", "project")
        .filter(pk=round_id)
        .first()
    )
    if row is None:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    return row


@transaction.atomic
def seal_round(*, actor: User | None, round_id: int) -> Round:
    """Close a round to changes, once every dialogue has its final label. Safe to repeat."""
    row = locked_round(round_id)
    if row.state == RoundState.OPEN:
        _seal(row, actor)
    return row


@transaction.atomic
def seal_when_complete(*, round_id: int) -> None:
    """A dialogue got its final label, or left the round: where it was the last one, the round is sealed."""
    if Task.objects.filter(round=round_id).exclude(state=TaskState.FINAL).exists():
        return
    row = locked_round(round_id)
    if row.state == RoundState.OPEN:
        _seal(row, None, quietly=True)


def _seal(row: Round, actor: User | None, *, quietly: bool = False) -> None:
    """Under the round's lock. quietly: where something is missing, it stays open."""
    states = Task.objects.select_for_update().filter(round=row).order_by("pk").values_list("state", flat=True)
    missing = sum(state != TaskState.FINAL for state in states)
    if quietly and (missing or not states):
        return
    if not states:
        raise Refusal(
            "empty",
            _("No dialogue is left in this batch."),
            _("They all became gold dialogues of the admission test."),
        )
    if missing:
        raise Refusal(
            "not_complete",
            ngettext(
                "%(n)d dialogue of this batch has no final label yet.",
                "%(n)d dialogues of this batch have no final label yet.",
                missing,
            )
            % {"n": missing},
            _("It is sealed by itself when the last one has it."),
            details={"missing": missing},
        )
    move(
        row,
        to=RoundState.SEALED,
        moves=ROUND_MOVES,
        project=row.project,
        actor=actor,
        sealed_at=timezone.now(),
    )


@transaction.atomic
def unseal_round(*, actor: User, round_id: int, reason: str) -> Round:
    """Open a sealed round for corrections, as long as no sample was drawn."""
    row = locked_round(round_id)
    reason = checked_reason(reason)
    if not reason:
        raise Invalid(_("Say why the batch is opened again."), field="reason")
    if row.state == RoundState.IN_REVIEW:
        raise Refusal(
            "in_review",
            _("A sample of this batch is being judged, so nothing in it may change."),
            _("Wait for the verdict."),
        )
    move(row, to=RoundState.OPEN, moves=ROUND_MOVES, project=row.project, actor=actor, reason=reason)
    return row


@transaction.atomic
def regroup_round(*, actor: User, round_id: int, group: str) -> Round:
    """Give what is still to be labelled of an open round to another group; empty: to anybody. Safe to repeat.

    Who holds a dialogue of it keeps it; given back, it is the other group's.
    """
    row = locked_round(round_id)
    if row.state != RoundState.OPEN:
        raise Refusal(
            "not_open", _("This batch is not being labelled."), _("Only open batches change hands.")
        )
    check_group(group, groups_of(row.project))
    if row.group != group:
        Round.objects.filter(pk=row.pk).update(group=group)
        Task.objects.filter(round=row).exclude(state=TaskState.FINAL).update(group=group)
        came_free(row.project)
        Event.objects.create(
            project=row.project,
            subject_type=row._meta.label_lower,
            subject_id=str(row.pk),
            kind="regrouped",
            before=row.group,
            after=group,
            actor=actor,
        )
        row.group = group
    return row


def withdraw(row: Round) -> int:
    """Take back every label of a round that was returned, in the verdict's transaction. They stay as history, and count
    neither for a person's limit nor for the balance between people."""
    tasks = Task.objects.filter(round=row)
    FinalLabel.objects.filter(task__round=row, superseded_at=None).update(superseded_at=timezone.now())
    withdrawn = tasks.filter(state=TaskState.FINAL).update(state=TaskState.WITHDRAWN, open_slots=0)
    uncount_withdrawn(row)
    return withdrawn


def open_next(row: Round, group: str | None = None) -> Round:
    """The round after a returned one, with tasks of its own: the same people may label the dialogues anew.

    group: who labels it; None: as the plan says. Where nobody is left in a group, anybody labels it.
    """
    chosen = next_group(row) if group is None else group
    if group:
        check_group(group, groups_of(row.project))
    following = Round.objects.create(
        batch=row.batch, project=row.project, number=row.number + 1, group=chosen
    )
    before = Task.objects.filter(round=row).order_by("pk")
    gold = live_gold(row.project).filter(dialogue__tasks__round=row)
    withheld = set(gold.values_list("dialogue", flat=True))
    made = Task.objects.bulk_create(
        [_once_more(task, following, is_withheld=task.dialogue_id in withheld) for task in before],
        batch_size=AT_ONCE,
    )
    for task in made:
        if task.round is None:
            live_gold(row.project).filter(dialogue=task.dialogue_id).update(task=task, withheld=task.overlap)
    Batch.objects.filter(pk=row.batch_id).update(size=len(made) - len(withheld))
    came_free(row.project)
    return following


def _once_more(task: Task, following: Round, *, is_withheld: bool) -> Task:
    """A task for the same dialogue. is_withheld: it is gold, so nobody is given it and no batch waits for it."""
    return Task(
        project_id=task.project_id,
        dialogue_id=task.dialogue_id,
        overlap=task.overlap,
        open_slots=0 if is_withheld else task.overlap,
        priority=task.priority,
        place=task.place,
        group=following.group,
        round=None if is_withheld else following,
    )


def next_group(row: Round) -> str:
    """Who labels a returned batch by the plan; empty where nobody is left in any group."""
    groups = [name for name in groups_of(row.project) if has_annotators(row.project, name)]
    if not groups:
        return ""
    if plan_of(row.project).relabel == Relabel.SAME:
        return row.group if row.group in groups else ""
    later = [name for name in groups if name > row.group]
    return (later or groups)[0]


def has_annotators(project: Project, group: str) -> bool:
    """Whether somebody of the group can be given dialogues."""
    rows = Membership.objects.filter(project=project, roles__contains=[Role.ANNOTATOR], user__is_active=True)
    return rows.filter(group=group).exists() if group else rows.exists()
