"""Who has seen others' labels. Labels that somebody sends after that are not independent."""

from collections.abc import Iterable

from accounts.models import User
from annotation.labelling.models.labels import ShownLabels
from annotation.tasks.models.work import Task


def record_shown_labels(*, person: User, tasks: Iterable[int]) -> None:
    """Record that others' labels of these tasks are shown to the person; keeps the first time. Safe to repeat.

    Call it before the page is rendered: labels that arrive from then on are not independent.
    """
    rows = [ShownLabels(task_id=task, person=person) for task in sorted(set(tasks))]
    if rows:
        ShownLabels.objects.bulk_create(rows, ignore_conflicts=True)


def record_shown_dialogues(*, person: User, dialogues: Iterable[int]) -> None:
    """Record that the labels of these dialogues, in every round, are shown to the person."""
    tasks = Task.objects.filter(dialogue__in=list(dialogues)).values_list("pk", flat=True)
    record_shown_labels(person=person, tasks=tasks)
