"""Which dialogues people disagree on most, and about which questions."""

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

SHOWN = 25
LOOKED_AT = 500  # tasks a page, where one question is asked for: what lies deeper is on the next page
MOST_PATHS = 12  # a dialogue's differing answers that are spelled out


@dataclass(frozen=True, slots=True)
class DifferingQuestion:
    """One question of a dialogue and how the answers spread: [(value, count, names)], most frequent first."""

    path: str
    question: str
    position: int | None
    spread: list[tuple[Any, int, list[str]]]


@dataclass(frozen=True, slots=True)
class DisagreementCase:
    task: Task
    skips: int
    gold: int | None
    differing: list[DifferingQuestion]
    more: int


@dataclass(frozen=True, slots=True)
class CasePage:
    """after: where the next page begins, "" on the last one."""

    cases: list[DisagreementCase]
    after: str


def most_disagreed(
    project: Project, *, reader: User, question: str = "", after: str = "", names: bool = False
) -> CasePage:
    """The most disagreed first, a page at a time; a constant number of queries, and of tasks looked at.

    Without those whose labels the reader must not see yet: they may be the one to judge them blind.
    """
    unseen = hidden_labels(reader, project).filter(task=OuterRef("pk"))
    standing = Task.objects.filter(~Exists(unseen), project=project, disagreement__gt=0)
    rows = _after(standing.exclude(state=TaskState.WITHDRAWN), after)
    rows = rows.order_by("-disagreement", "-id")
    wanted = LOOKED_AT if question else SHOWN
    tasks = list(_with_answers(rows)[: wanted + 1])
    cases: list[DisagreementCase] = []
    for n, task in enumerate(tasks[:wanted]):
        differing = _differing(task, names=names)
        if not question or any(one.question == question for one in differing):
            cases.append(_case(task, differing))
        if len(cases) == SHOWN or n == wanted - 1:
            return CasePage(cases, _key(task) if n + 1 < len(tasks) else "")
    return CasePage(cases, "")


def _key(task: Task) -> str:
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
    more = max(0, len(differing) - MOST_PATHS)
    return DisagreementCase(task, task.skips, task.gold_id, list(differing[:MOST_PATHS]), more)


def _differing(task: Any, *, names: bool) -> list[DifferingQuestion]:
    """Of each person's last independent answers, those that are not all the same."""
    return differing_questions(
        list({one.annotator_id: one for one in task.independent}.values()), names=names
    )


def differing_questions(answered: Sequence[Submission], *, names: bool) -> list[DifferingQuestion]:
    """Where people's answers are not all the same, and who gave which."""
    if len(answered) < 2:
        return []
    schema, paths = load_schema(answered[-1].schema), dict[str, None]()
    for other in answered[1:]:
        paths |= dict.fromkeys(differing_paths(schema, answered[0].answers, other.answers))
    return [_spread(path, answered, names) for path in paths]


def _spread(path: str, answered: Sequence[Submission], names: bool) -> DifferingQuestion:
    counts: Counter[str] = Counter()
    values: dict[str, Any] = {}
    people: dict[str, list[str]] = {}
    for one in answered:
        value = answer_at(one.answers, path)
        values[repr(value)] = value
        counts[repr(value)] += 1
        people.setdefault(repr(value), []).append(one.annotator.shown_name if names else "")
    position, _slash, key = path.rpartition("/")
    spread = [(values[at], n, [name for name in people[at] if name]) for at, n in counts.most_common()]
    return DifferingQuestion(path, key, int(position) if position else None, spread)


def most_skipped(project: Project, most: int = 10) -> list[tuple[int, int, Any]]:
    """[(task, skips, dialogue)]: what people pass by most often, of those that more than one person skipped."""
    rows = Assignment.objects.filter(project=project, state=AssignmentState.RELEASED).order_by()
    counted = rows.values("task", "dialogue").annotate(n=Count("pk")).filter(n__gt=1).order_by("-n", "task")
    return [(row["task"], row["n"], row["dialogue"]) for row in counted[:most]]
