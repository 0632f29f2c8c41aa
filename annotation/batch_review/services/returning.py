"""What returning a batch does: its labels are withdrawn, and the next round opens with tasks of its own. Undoing it."""

from django.utils import timezone

from annotation.batch_review.selectors.undoing import copied_tasks
from annotation.batch_review.services.regrouping import check_group, next_group
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.selectors.gold import live_gold
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.assignment import (
    add_restored,
    reset_claim_cursors,
    subtract_held,
    subtract_withdrawn,
)
from projects.selectors import groups_of

TASKS_AT_ONCE = 5000  # of a statement that has parameters for each


def withdraw_labels(row: Round) -> int:
    """Withdraw every label of a returned round, in the verdict's transaction. Returns how many.

    They stay as history and no longer count for a person's limit or for the balance between people.
    """
    FinalLabel.objects.filter(task__round=row, superseded_at=None).update(superseded_at=timezone.now())
    final = Task.objects.filter(round=row, state=TaskState.FINAL)
    withdrawn = final.update(state=TaskState.WITHDRAWN, open_slots=0)
    subtract_withdrawn(row)
    return withdrawn


def open_next_round(row: Round, group: str | None = None) -> Round:
    """Open the round after a returned one. Its tasks are new, so the same people may label the dialogues again.

    group: who labels it; None: as the plan says.
    """
    if group:
        check_group(group, groups_of(row.project))
    following = Round.objects.create(
        batch=row.batch,
        project=row.project,
        number=row.number + 1,
        group=next_group(row) if group is None else group,
    )
    gold = live_gold(row.project).filter(dialogue__tasks__round=row)
    withheld = set(gold.values_list("dialogue", flat=True))
    earlier = Task.objects.filter(round=row, dialogue__isnull=False).order_by("pk")
    tasks = Task.objects.bulk_create(
        [_copy_task(task, following, is_withheld=task.dialogue_id in withheld) for task in earlier],
        batch_size=TASKS_AT_ONCE,
    )
    for task in tasks:
        if task.round is None:
            live_gold(row.project).filter(dialogue=task.dialogue_id).update(task=task, withheld=task.overlap)
    Batch.objects.filter(pk=row.batch_id).update(size=len(tasks) - len(withheld))
    reset_claim_cursors(row.project)
    return following


def _copy_task(task: Task, following: Round, *, is_withheld: bool) -> Task:
    """A task for the same dialogue. is_withheld: the dialogue is gold; nobody gets it and no batch waits for it."""
    return Task(
        project_id=task.project_id,
        dialogue_id=task.dialogue_id,
        overlap=task.overlap,
        open_slots=0 if is_withheld else task.overlap,
        priority=task.priority,
        place=task.place,
        original_place=task.original_place,
        group=following.group,
        language=task.language,
        round=None if is_withheld else following,
    )


def restore_labels(row: Round) -> None:
    """Undo `withdraw_labels`."""
    labels = FinalLabel.objects.filter(task__round=row, superseded_at__gte=row.ended_at)
    labels.filter(dialogue__isnull=False).update(superseded_at=None)
    Task.objects.filter(round=row, state=TaskState.WITHDRAWN).update(state=TaskState.FINAL)
    add_restored(row)


def delete_next_round(row: Round) -> None:
    """Undo `open_next_round`. Dialogues that people fetched ahead are taken from them."""
    copies = copied_tasks(row)
    original = dict(Task.objects.filter(round=row).values_list("dialogue_id", "pk"))
    for gold in GoldDialogue.objects.filter(task__in=copies):
        gold.task_id, gold.withheld = original[gold.dialogue_id], 0
        gold.save(update_fields=["task", "withheld"])
    subtract_held(row.project, copies.values_list("pk", flat=True))
    while some := list(copies.values_list("pk", flat=True)[:TASKS_AT_ONCE]):
        Task.objects.filter(pk__in=some).delete()
    Round.objects.filter(batch=row.batch_id, number=row.number + 1).delete()
    Batch.objects.filter(pk=row.batch_id).update(size=len(original))
    reset_claim_cursors(row.project)
