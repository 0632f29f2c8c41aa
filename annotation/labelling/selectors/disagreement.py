"""The dialogues that people disagree on most, and the questions on which they differ."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import Stage, Submission
from annotation.labelling.schema.answers import differing_paths
from annotation.labelling.schema.paths import answer_at
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.visibility import hidden_labels
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from projects.models import Project

PAGE_SIZE = 25
MAX_SCANNED = 500  # tasks per page when filtered by question; the next page scans further
MAX_PATHS = 12  # differing answers listed per dialogue


@dataclass(frozen=True, slots=True)
class DifferingQuestion:
    """A question that people answered differently. spread: [(value, count, names)], most frequent first."""

    path: str
    question: str
    position: int | None
    spread: list[tuple[Any, int, list[str]]]


@dataclass(frozen=True, slots=True)
class DisagreementCase:
    """people: how many answered independently, so what the task's disagreement rests on."""

    task: Task
    skips: int
    gold: int | None
    differing: list[DifferingQuestion]
    more: int
    people: int


@dataclass(frozen=True, slots=True)
class CasePage:
    """after: the cursor of the next page; "" on the last one."""

    cases: list[DisagreementCase]
    after: str


def most_disagreed(
    project: Project, *, reader: User, question: str = "", after: str = "", names: bool = False
) -> CasePage:
    """One page of cases, highest disagreement first. The number of queries and of scanned tasks is bounded.

    Leaves out tasks whose labels the reader must not see yet, because they may have to judge them blind.
    """
    unseen = hidden_labels(reader, project).filter(task=OuterRef("pk"))
    visible = Task.objects.filter(~Exists(unseen), project=project, disagreement__gt=0)
    rows = _after(visible.exclude(state=TaskState.WITHDRAWN), after)
    rows = rows.order_by("-disagreement", "-id")
    limit = MAX_SCANNED if question else PAGE_SIZE
    tasks = list(_with_answers(rows)[: limit + 1])
    cases: list[DisagreementCase] = []
    for n, task in enumerate(tasks[:limit]):
        differing = _differing(task, names=names)
        if not question or any(item.question == question for item in differing):
            cases.append(_case(task, differing))
        if len(cases) == PAGE_SIZE or n == limit - 1:
            return CasePage(cases, _cursor(task) if n + 1 < len(tasks) else "")
    return CasePage(cases, "")


def _cursor(task: Task) -> str:
    return f"{task.disagreement!r}_{task.pk}"


def _after(rows: QuerySet[Task], after: str) -> QuerySet[Task]:
    value, _mark, pk = after.partition("_")
    try:
        disagreement, number = float(value), int(pk)
    except ValueError:
        return rows
    if not (0 <= disagreement <= 1 and 0 <= number < 2**63):
        return rows
    return rows.filter(disagreement__lte=disagreement).filter(
        Q(disagreement__lt=disagreement) | Q(pk__lt=number)
    )


def _with_answers(rows: QuerySet[Task]) -> QuerySet[Task]:
    live = Submission.objects.filter(stage=Stage.LABEL).select_related("annotator", "schema")
    gold = GoldDialogue.objects.filter(dialogue=OuterRef("dialogue"), retired_at=None)
    return (
        rows.select_related("dialogue")
        .prefetch_related(Prefetch("submissions", live.order_by("stored_at"), to_attr="independent"))
        .annotate(skips=Coalesce(Subquery(_skips()), 0), gold_id=Subquery(gold.values("pk")[:1]))
    )


def _skips() -> QuerySet[Any]:
    released = Assignment.objects.filter(task=OuterRef("pk"), state=AssignmentState.RELEASED).order_by()
    return released.values("task").annotate(n=Count("pk")).values("n")


def _case(task: Any, differing: Sequence[DifferingQuestion]) -> DisagreementCase:
    more = max(0, len(differing) - MAX_PATHS)
    people = len({row.annotator_id for row in task.independent})
    return DisagreementCase(task, task.skips, task.gold_id, list(differing[:MAX_PATHS]), more, people)


def _differing(task: Any, *, names: bool) -> list[DifferingQuestion]:
    """The differences between each person's last independent answers."""
    return differing_questions(
        list({row.annotator_id: row for row in task.independent}.values()), names=names
    )


def differing_questions(submissions: Sequence[Submission], *, names: bool) -> list[DifferingQuestion]:
    """The questions on which the submissions differ, and who gave which answer."""
    if len(submissions) < 2:
        return []
    schema, paths = load_schema(submissions[-1].schema), dict[str, None]()
    for other in submissions[1:]:
        paths |= dict.fromkeys(differing_paths(schema, submissions[0].answers, other.answers))
    return [_spread(path, submissions, names) for path in paths]


def _spread(path: str, submissions: Sequence[Submission], names: bool) -> DifferingQuestion:
    counts: Counter[str] = Counter()
    values: dict[str, Any] = {}
    people: dict[str, list[str]] = {}
    for submission in submissions:
        value = answer_at(submission.answers, path)
        values[repr(value)] = value
        counts[repr(value)] += 1
        people.setdefault(repr(value), []).append(submission.annotator.shown_name if names else "")
    position, _slash, key = path.rpartition("/")
    spread = [(values[at], n, [name for name in people[at] if name]) for at, n in counts.most_common()]
    return DifferingQuestion(path, key, int(position) if position else None, spread)


def most_skipped(project: Project, most: int = 10) -> list[tuple[int, int, Any]]:
    """[(task, skips, dialogue)]: the tasks that were skipped most often, at least twice."""
    rows = Assignment.objects.filter(project=project, state=AssignmentState.RELEASED).order_by()
    skips = rows.values("task", "dialogue").annotate(n=Count("pk")).filter(n__gt=1).order_by("-n", "task")
    return [(row["task"], row["n"], row["dialogue"]) for row in skips[:most]]
