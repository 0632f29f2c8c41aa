"""Statistics of an authoring project. Everything is counted by the database from the log; nothing is guessed.

About the data (Table 1, edit distances, places): a dialogue counts when it is finished and no expert vetoed it.
About the work (over time, by annotator, pace): every sent turn counts that was not undone, also of dialogues that are
not finished or were vetoed. An utterance has an action when candidates were shown for it; openings and turns written
while no candidates came had none, and count as utterances only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Avg, Count, Max, Min, Q, QuerySet
from django.db.models.functions import Length, Trunc

from annotation.models import Turn
from dialogues.models import Action, Dialogue, DialogueState, ReviewState, Split, Utterance
from generation.selectors import Percentile
from measures.proportion import Proportion, proportion
from projects.models import Project

NAMES = ("assignment__annotator__username", "assignment__annotator__display_name")
HAD_CANDIDATES = Q(candidate_set__isnull=False) & ~Q(action="")
WIDEST_DISTANCE = 50  # characters; larger edits share the last bar
# The longest spans that are counted by day, and by week; longer ones are counted by month.
DAYS, WEEKS = timedelta(days=60), timedelta(weeks=60)


@dataclass(frozen=True, slots=True)
class Actions:
    """How many utterances came about by each action."""

    select: int
    revise: int
    rewrite: int

    @property
    def total(self) -> int:
        return self.select + self.revise + self.rewrite

    def share(self, action: str) -> Proportion:
        """Of all that had candidates."""
        return proportion(getattr(self, action), self.total)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of Table 1. mean_length: characters per utterance, None without utterances."""

    split: str
    dialogues: int
    utterances: int
    mean_length: float | None
    actions: Actions


@dataclass(frozen=True, slots=True)
class Person:
    """An annotator: the sign-in name, and the name that is shown."""

    username: str
    display_name: str

    def __str__(self) -> str:
        return self.display_name or self.username


@dataclass(frozen=True, slots=True)
class PersonsActions:
    person: Person
    actions: Actions


@dataclass(frozen=True, slots=True)
class Period:
    """The actions of the day, week or month that begins with `start`."""

    start: date
    actions: Actions


@dataclass(frozen=True, slots=True)
class Course:
    """The actions period by period, oldest first, without those in which nobody wrote. unit: day, week or month."""

    unit: str
    periods: list[Period]

    def with_gaps(self) -> list[tuple[date, Actions | None]]:
        """Every period from the first to the last; None where nobody wrote."""
        written = {period.start: period.actions for period in self.periods}
        at, last = (self.periods[0].start, self.periods[-1].start) if self.periods else (date.max, date.min)
        course = []
        while at <= last:
            course.append((at, written.get(at)))
            at = self._after(at)
        return course

    def _after(self, start: date) -> date:
        if self.unit == "month":
            return (start + timedelta(days=32)).replace(day=1)
        return start + timedelta(days=7 if self.unit == "week" else 1)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds per turn of one annotator, active and idle apart; medians, and the 90th percentile of the active ones."""

    person: Person
    turns: int
    active: float
    active_p90: float
    idle: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a histogram."""

    value: int
    count: int


def _dialogues(project: Project) -> QuerySet[Dialogue]:
    rows = Dialogue.objects.filter(project=project, state=DialogueState.FINISHED)
    return rows.exclude(review_state=ReviewState.VETOED)


def _utterances(project: Project) -> QuerySet[Utterance]:
    return Utterance.objects.filter(
        dialogue__project=project, dialogue__state=DialogueState.FINISHED
    ).exclude(dialogue__review_state=ReviewState.VETOED)


def _turns(project: Project) -> QuerySet[Turn]:
    """Sent turns of every dialogue, finished or not, without those that were undone."""
    return Turn.objects.filter(assignment__project=project, undone_at=None)


def _actions(model_filter: Q = HAD_CANDIDATES) -> dict[str, Count]:
    return {action: Count("id", filter=model_filter & Q(action=action)) for action in Action.values}


def _person(row: Mapping[str, Any]) -> Person:
    return Person(*(row[name] for name in NAMES))


def _as_actions(row: Mapping[str, Any]) -> Actions:
    return Actions(*(row[action] for action in Action.values))


def table_one(project: Project) -> list[Column]:
    """Table 1 of the paper: a column per split, and the total last. Two queries."""
    dialogues = dict(_dialogues(project).values_list("split").annotate(n=Count("id")).order_by())
    counted = (
        _utterances(project)
        .values("dialogue__split")
        .annotate(utterances=Count("id"), length=Avg(Length("text")), **_actions())
        .order_by()
    )
    rows = {row["dialogue__split"]: row for row in counted}
    columns = [_column(split, dialogues.get(split, 0), rows.get(split)) for split in Split.values]
    return [*columns, _total(columns)]


def _column(split: str, dialogues: int, row: Mapping[str, Any] | None) -> Column:
    if row is None:
        return Column(split, dialogues, 0, None, Actions(0, 0, 0))
    return Column(split, dialogues, row["utterances"], float(row["length"]), _as_actions(row))


def _total(columns: list[Column]) -> Column:
    utterances = sum(column.utterances for column in columns)
    characters = sum((column.mean_length or 0) * column.utterances for column in columns)
    actions = Actions(*(sum(getattr(c.actions, action) for c in columns) for action in Action.values))
    mean = characters / utterances if utterances else None
    return Column("total", sum(c.dialogues for c in columns), utterances, mean, actions)


def actions_over_time(project: Project) -> Course:
    """By day, or by week or month when the project is longer; days in the time zone of the server. Two queries."""
    turns = _turns(project).filter(HAD_CANDIDATES)
    span = turns.aggregate(first=Min("stored_at"), last=Max("stored_at"))
    lasted = span["last"] - span["first"] if span["first"] else timedelta()
    unit = "day" if lasted <= DAYS else "week" if lasted <= WEEKS else "month"
    rows = (
        turns.annotate(start=Trunc("stored_at", unit))
        .values("start")
        .annotate(**_actions())
        .order_by("start")
    )
    return Course(unit, [Period(row["start"].date(), _as_actions(row)) for row in rows])


def actions_by_annotator(project: Project) -> list[PersonsActions]:
    """The actions of every annotator, those with most turns first."""
    by_person = _turns(project).filter(HAD_CANDIDATES).values(*NAMES)
    rows = by_person.annotate(n=Count("id"), **_actions()).order_by("-n", NAMES[0])
    return [PersonsActions(_person(row), _as_actions(row)) for row in rows]


def edit_distances(project: Project) -> list[Bar]:
    """Revised utterances by edit distance in characters; WIDEST_DISTANCE holds it and everything above."""
    revised = _utterances(project).filter(action=Action.REVISE, edit_distance__isnull=False)
    counts = dict(revised.values_list("edit_distance").annotate(n=Count("id")).order_by())
    bars = [Bar(value, counts.get(value, 0)) for value in range(1, WIDEST_DISTANCE)]
    return [*bars, Bar(WIDEST_DISTANCE, sum(n for value, n in counts.items() if value >= WIDEST_DISTANCE))]


def places_chosen(project: Project) -> list[Bar]:
    """Selected and revised utterances by the displayed place (from 1) of their source, unchosen places included.

    The display order is random, so places that differ much say that people read only the first ones.
    """
    taken = _utterances(project).filter(action__in=[Action.SELECT, Action.REVISE], source__isnull=False)
    counts = dict(taken.values_list("source").annotate(n=Count("id")).order_by())
    places = max(project.authoring.candidates, *(source + 1 for source in counts), 1)
    return [Bar(place, counts.get(place - 1, 0)) for place in range(1, places + 1)]


def paces(project: Project) -> list[Pace]:
    """Seconds per turn by annotator, most turns first."""
    rows = (
        _turns(project)
        .filter(Q(active_ms__gt=0) | Q(idle_ms__gt=0))
        .values(*NAMES)
        .annotate(
            turns=Count("id"),
            active=Percentile("active_ms", 0.5),
            active_p90=Percentile("active_ms", 0.9),
            idle=Percentile("idle_ms", 0.5),
        )
        .order_by("-turns", NAMES[0])
    )
    return [
        Pace(
            _person(row),
            row["turns"],
            row["active"] / 1000,
            row["active_p90"] / 1000,
            row["idle"] / 1000,
        )
        for row in rows
    ]
