"""Whether a project has enough annotators for the people that its dialogues want."""

from collections import Counter
from collections.abc import Sequence

from django.db.models import (
    Case,
    Count,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from annotation.tasks.models.work import HELD, Assignment, AssignmentState, Task, TaskState
from projects.models import Membership, Project, Role


def short_of_people(
    rows: QuerySet[Task],
    project: Project,
    overlap: Combinable | None = None,
    group: Combinable | None = None,
) -> QuerySet[Task]:
    """The tasks of a labelling project that want more people than there are, so that they cannot be finished.

    overlap, group: what the tasks would have, if not what they have. One query for the annotators. Who has labelled a
    task or holds it, but is no longer an annotator or is of another group, counts for that task.
    """
    annotators = Membership.objects.filter(
        project=project, roles__contains=[Role.ANNOTATOR], user__is_active=True, user__imported=False
    )
    groups = dict(annotators.order_by().values_list("user", "group"))
    sizes = Counter(groups.values())
    members = {name: [user for user, group in groups.items() if group == name] for name in sizes if name}
    others = Case(
        When(wanted_group="", then=_count_others(list(groups))),
        *(When(wanted_group=name, then=_count_others(users)) for name, users in members.items()),
        default=_count_others([]),
        output_field=IntegerField(),
    )
    people = Case(
        When(wanted_group="", then=Value(len(groups))),
        *(When(wanted_group=name, then=Value(size)) for name, size in sizes.items() if name),
        default=Value(0),
        output_field=IntegerField(),
    )
    return (
        rows.annotate(wanted=overlap or F("overlap"), wanted_group=group or F("group"))
        .annotate(people=people)
        .filter(wanted__gt=F("people"))
        .filter(wanted__gt=F("people") + others)
    )


def _count_others(counted: Sequence[int]) -> Combinable:
    """How many people besides these hold or have labelled a task."""
    rows = Assignment.objects.filter(task=OuterRef("pk"), state__in=[*HELD, AssignmentState.SUBMITTED])
    rows = rows.exclude(annotator__in=counted).order_by()
    return Coalesce(Subquery(rows.values("task").annotate(n=Count("pk")).values("n")), Value(0))


def count_tasks_short_of_people(project: Project) -> int:
    """The tasks that are being labelled and want more annotators than the project, or their group, has."""
    rows = Task.objects.filter(Q(open_slots__gt=0), project=project, state=TaskState.OPEN)
    return short_of_people(rows, project).count()
