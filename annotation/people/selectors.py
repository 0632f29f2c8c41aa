"""How one person works in a project, for its managers: speed, agreement, accuracy, work per week and cost."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncWeek
from django.utils import timezone

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.batch_review.selectors.annotator_accuracy import answer_outcomes
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.labelling.models.labels import Submission
from annotation.labelling.models.statistics import LabelStatistics
from annotation.onboarding.models import AdmissionItem
from annotation.tasks.models.work import Assignment, AssignmentState
from measures.estimate import Estimate
from measures.median import median_estimate
from measures.proportion import Proportion, proportion
from projects.models import Project, Protocol

NEWEST = 2000  # turns or labels that the speed is about
WEEKS = 26
TOO_FEW = 5  # a number that rests on less says little


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one question: equal pairs with others' independent answers. name: key of the question; "" the final labels."""

    name: str
    share: float | None
    n: int

    @property
    def is_faint(self) -> bool:
        return self.n < TOO_FEW


@dataclass(frozen=True, slots=True)
class PersonReport:
    """seconds: active, per turn in authoring, per label in labelling. judged: right in judged samples, in authoring
    passed by experts. active_hours: all of them; cost: at the project's rate, None without one. weeks: (Monday,
    finished). is_agreement_computed: whether the statistics of the project, which agreement is read from, are there.
    """

    seconds: Estimate
    agreement: list[Agreement]
    is_agreement_computed: bool
    gold: Proportion
    judged: Proportion
    active_hours: float
    finished: int
    cost: Decimal | None
    cost_per_dialogue: Decimal | None
    weeks: list[tuple[date, int]]


def person_report(project: Project, person: User) -> PersonReport:
    """About fifteen queries for any amount of work; agreement is read from the stored statistics."""
    labels = project.protocol == Protocol.LABELLING
    rows: Any = _labels_of(project, person) if labels else _turns_of(project, person)
    hours = (rows.aggregate(ms=Sum("active_ms"))["ms"] or 0) / 3_600_000
    finished = _finished(project, person).count()
    statistics = LabelStatistics.objects.filter(project=project, computed_at__isnull=False).first()
    cost = None if project.hourly_rate is None else project.hourly_rate * Decimal(str(round(hours, 4)))
    return PersonReport(
        seconds=_seconds(rows.filter(revision=1) if labels else rows),
        agreement=_agreement(statistics, person) if labels else [],
        is_agreement_computed=statistics is not None,
        gold=_gold(project, person),
        judged=_judged(project, person) if labels else _passed(project, person),
        active_hours=hours,
        finished=finished,
        cost=cost,
        cost_per_dialogue=cost / finished if cost is not None and finished else None,
        weeks=_weeks(project, person),
    )


def _labels_of(project: Project, person: User) -> QuerySet[Submission]:
    return Submission.objects.filter(project=project, annotator=person)


def _turns_of(project: Project, person: User) -> QuerySet[Turn]:
    return Turn.objects.filter(undone_at=None, assignment__project=project, assignment__annotator=person)


def _seconds(rows: Any) -> Estimate:
    newest = rows.filter(active_ms__gt=0).order_by("-stored_at").values_list("active_ms", flat=True)[:NEWEST]
    return median_estimate([ms / 1000 for ms in newest])


def _agreement(row: LabelStatistics | None, person: User) -> list[Agreement]:
    if row is None:
        return []
    found = [
        Agreement(question["name"], entry["agrees"], entry["pairs"])
        for question in row.numbers["questions"]
        for entry in question["people"]
        if entry["id"] == person.pk
    ]
    whole = next((one for one in row.numbers["people"] if one["id"] == person.pk), None)
    if whole and whole["compared"]:
        found.append(Agreement("", whole["equal"] / whole["compared"], whole["compared"]))
    return found


def _gold(project: Project, person: User) -> Proportion:
    """Gold dialogues of admission tests that were answered without a mistake."""
    rows = AdmissionItem.objects.filter(
        attempt__project=project, attempt__annotator=person, answered_at__isnull=False
    )
    return proportion(rows.filter(wrong=[]).count(), rows.count())


def _judged(project: Project, person: User) -> Proportion:
    outcomes, _is_cut = answer_outcomes(person, project)
    return proportion(sum(one.was_right for one in outcomes), len(outcomes))


def _passed(project: Project, person: User) -> Proportion:
    """Verdicts of experts on the author's dialogues."""
    rows = ExpertReview.objects.filter(
        dialogue__project=project,
        dialogue__assignments__annotator=person,
        decided_at__isnull=False,
        superseded_at=None,
    )
    counts = Counter(rows.order_by().distinct().values_list("pk", "verdict"))
    verdicts = [verdict for _pk, verdict in counts]
    return proportion(verdicts.count(Verdict.PASS), len(verdicts))


def _finished(project: Project, person: User) -> Any:
    return Assignment.objects.filter(project=project, annotator=person, state=AssignmentState.SUBMITTED)


def _weeks(project: Project, person: User) -> list[tuple[date, int]]:
    """The last WEEKS weeks, those without work included, from the first with work."""
    today = timezone.localdate()
    begin = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    rows = _finished(project, person).filter(submitted_at__date__gte=begin).order_by()
    by_week = rows.annotate(week=TruncWeek("submitted_at")).values_list("week")
    found = {timezone.localtime(week).date(): n for week, n in by_week.annotate(n=Count("pk"))}
    weeks = [begin + timedelta(weeks=n) for n in range(WEEKS)]
    first = min(found, default=None)
    return [] if first is None else [(week, found.get(week, 0)) for week in weeks if week >= first]
