"""Which tasks a person may be given, by the languages that they read."""

from collections.abc import Collection, Sequence
from itertools import chain

from django.db.models import Q

from annotation.tasks.models.work import Task
from common.languages import primary_language
from projects.models import Membership, Project, Protocol, Role


def reads_project(reading: Collection[str], project: Project) -> bool:
    """Whether somebody who reads these languages (none: all) reads the project's; a mixed project is for everybody."""
    return not reading or primary_language(project.language) in ("", *reading)


def task_languages(reading: Sequence[str], project: Project) -> list[str] | None:
    """The values of Task.language in the project for a person who reads these languages; None: any; empty: no task."""
    if not reading:
        return None
    if project.protocol == Protocol.AUTHORING:
        return None if reads_project(reading, project) else []
    return [*reading, ""]


def readable_tasks(reading: Sequence[str], projects: Collection[Project], prefix: str = "") -> Q:
    """The condition for tasks of these projects that a person who reads these languages may be given.

    prefix: of the fields of the task, such as "task__".
    """
    if not reading:
        return Q()
    unread = [
        one.pk for one in projects if one.protocol == Protocol.AUTHORING and not reads_project(reading, one)
    ]
    return Q(**{f"{prefix}language__in": [*reading, ""]}) & ~Q(**{f"{prefix}project__in": unread})


def read_by_nobody(project: Project, group: str = "") -> Q:
    """The condition for tasks of a labelling project in languages that no annotator of the group reads.

    group: "" is everybody. One query.
    """
    annotators = Membership.objects.filter(project=project, roles__contains=[Role.ANNOTATOR])
    annotators = annotators.filter(group=group) if group else annotators
    reading = list(annotators.order_by().values_list("user__reading_languages", flat=True).distinct())
    if not reading or [] in reading:
        return Q(pk__in=[])
    return ~Q(language__in={"", *chain.from_iterable(reading)})


def count_unread_tasks(project: Project) -> int:
    """The open tasks of a labelling project that nobody is given, because no annotator reads their language."""
    return Task.objects.filter(read_by_nobody(project), project=project, open_slots__gt=0).count()
