"""Statistics of an authoring project. The database counts everything from the log.

The data (Table 1, edit distances, places): a dialogue counts if it is finished and no expert vetoed it.
The work (over time, by annotator, pace): every turn that was not undone counts, even of unfinished and vetoed
dialogues. An action counts if candidates were shown for the utterance. Openings, and turns written while no
candidates could be generated, count as utterances only.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Avg, Count, F, Max, Min, Q, Sum
from django.db.models.functions import Length, Trunc

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.tasks.models.work import Assignment
from dialogues.models import Action, Dialogue, DialogueState, ReviewState, Split, Utterance
from generation.percentiles import Percentiles
from measures.proportion import Proportion, proportion
from projects.models import Project

ANNOTATOR = "assignment__annotator"  # of a turn
HAD_CANDIDATES = Q(candidate_set__isnull=False) & ~Q(action="")
WIDEST_DISTANCE = 50  # characters; larger edits share the last bar
# The longest projects counted by day, and by week. Longer ones are counted by month.
DAYS, WEEKS = timedelta(days=60), timedelta(weeks=60)


@dataclass(frozen=True, slots=True)
class Actions:
    """How many utterances have each action."""

    select: int
    revise: int
    rewrite: int

    @property
    def total(self) -> int:
        return self.select + self.revise + self.rewrite

    def share(self, action: str) -> Proportion:
        """The share of the action among all utterances with candidates."""
        return proportion(getattr(self, action), self.total)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of Table 1. mean_length: characters per utterance, None without utterances.

    derived: how many of the actions an import derived from the texts, because its file did not name them.
    """

    split: str
    dialogues: int
    utterances: int
    mean_length: float | None
    actions: Actions
    derived: int = 0


@dataclass(frozen=True, slots=True)
class Person:
    """An annotator: the name to sign in with, and the name to display."""

    username: str
    display_name: str

    def __str__(self) -> str:
        return self.display_name or self.username


@dataclass(frozen=True, slots=True)
class AnnotatorActions:
    person: Person
    actions: Actions


@dataclass(frozen=True, slots=True)
class Period:
    """The actions of the day, week or month that begins on `start`."""

    start: date
    actions: Actions


@dataclass(frozen=True, slots=True)
class Timeline:
    """The actions period by period, oldest first. Periods without turns are left out. unit: day, week or month."""

    unit: str
    periods: list[Period]

    def with_gaps(self) -> list[tuple[date, Actions | None]]:
        """Every period from the first to the last; None for a period without turns."""
        if not self.periods:
            return []
        actions_by_start = {period.start: period.actions for period in self.periods}
        start, last = self.periods[0].start, self.periods[-1].start
        periods = []
        while start <= last:
            periods.append((start, actions_by_start.get(start)))
            start = self._next(start)
        return periods

    def _next(self, start: date) -> date:
        if self.unit == "month":
            return (start + timedelta(days=32)).replace(day=1)
        return start + timedelta(days=7 if self.unit == "week" else 1)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds per turn of one annotator.

    active, active_p90: median and 90th percentile of the active time. idle: mean, since most turns have no idle time.
    """

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


class Statistics:
    """The numbers of one project. Shared counts are read once: four passes over the log in all."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def table_one(self) -> list[Column]:
        """Table 1 of the paper: a column per split, and the total last."""
        finished = Dialogue.objects.filter(project=self.project, state=DialogueState.FINISHED)
        live = finished.exclude(review_state=ReviewState.VETOED)
        dialogues = dict(live.values_list("split").annotate(n=Count("id")).order_by())
        columns = [self._column(split, dialogues.get(split, 0), {split}) for split in Split.values]
        return [*columns, self._column("total", sum(dialogues.values()), set(Split.values))]

    def _column(self, name: str, dialogues: int, splits: set[str]) -> Column:
        rows = [row for row in self._data if row["dialogue__split"] in splits]
        utterances, characters = (sum(row[key] for row in rows) for key in ("n", "characters"))
        actions: Counter[str] = Counter()
        for row in rows:
            actions[row["action"]] += row["n"] if row["had_candidates"] else 0
        mean = characters / utterances if utterances else None
        derived = sum(row["n"] for row in rows if row["had_candidates"] and row["action_derived"])
        return Column(name, dialogues, utterances, mean, _actions(actions), derived)

    def edit_distances(self) -> list[Bar]:
        """Revised utterances by edit distance in characters. The last bar includes everything above.

        Only recorded actions: a derived one is a revision because its distance is small.
        """
        counts: Counter[int] = Counter()
        for row in self._recorded:
            if row["action"] == Action.REVISE and row["edit_distance"] is not None:
                counts[min(row["edit_distance"], WIDEST_DISTANCE)] += row["n"]
        return [Bar(value, counts[value]) for value in range(1, WIDEST_DISTANCE + 1)]

    def places_chosen(self) -> list[Bar]:
        """Selected and revised utterances by the displayed place of their source, from 1. Includes unused places.

        The display order is random. If the first places are chosen much more often, people read only those. Derived
        actions do not count, because nobody knows which candidate these people began from.
        """
        counts: Counter[int] = Counter()
        for row in self._recorded:
            if row["action"] in (Action.SELECT, Action.REVISE) and row["source"] is not None:
                counts[row["source"] + 1] += row["n"]
        places = max([self.project.authoring.candidates, *counts])
        return [Bar(place, counts[place]) for place in range(1, places + 1)]

    @property
    def _recorded(self) -> list[dict[str, Any]]:
        """Without the utterances whose action an import derived."""
        return [row for row in self._data if not row["action_derived"]]

    @cached_property
    def _data(self) -> list[dict[str, Any]]:
        """The utterances of the data, counted by every key that the tables and histograms need."""
        rows = Utterance.objects.filter(
            dialogue__project=self.project, dialogue__state=DialogueState.FINISHED
        ).exclude(dialogue__review_state=ReviewState.VETOED)
        keys = ("dialogue__split", "action", "source", "edit_distance", "action_derived")
        counted = rows.annotate(had_candidates=HAD_CANDIDATES).values(*keys, "had_candidates")
        return list(counted.annotate(n=Count("id"), characters=Sum(Length("text"))).order_by())

    def actions_over_time(self) -> Timeline:
        """By day, or by week or month in a longer project. Days are in the time zone of the server."""
        unit, rows = self._work
        periods = sorted(_actions_by("start", rows).items())
        return Timeline(unit, [Period(start.date(), actions) for start, actions in periods])

    def actions_by_annotator(self) -> list[AnnotatorActions]:
        """The actions of every annotator, most turns first."""
        _unit, rows = self._work
        by_annotator = _actions_by("annotator", rows)
        people = _people(by_annotator)
        counted = [
            AnnotatorActions(people[annotator], actions) for annotator, actions in by_annotator.items()
        ]
        return sorted(counted, key=lambda row: (-row.actions.total, row.person.username))

    @cached_property
    def _work(self) -> tuple[str, list[Mapping[str, Any]]]:
        """The unit of time, and the turns that had candidates by period, annotator and action."""
        span = Assignment.objects.filter(project=self.project).aggregate(
            first=Min("claimed_at"), last=Max("touched_at")
        )
        length = span["last"] - span["first"] if span["first"] else timedelta()
        unit = "day" if length <= DAYS else "week" if length <= WEEKS else "month"
        live = Utterance.objects.filter(HAD_CANDIDATES, turn__assignment__project=self.project)
        rows = live.values("action", start=Trunc("turn__stored_at", unit), annotator=F(f"turn__{ANNOTATOR}"))
        return unit, list(rows.annotate(n=Count("id")).order_by())

    def paces(self) -> list[Pace]:
        """Seconds per turn of every annotator, most turns first."""
        turns = Turn.objects.filter(assignment__project=self.project, undone_at=None)
        timed = turns.filter(Q(active_ms__gt=0) | Q(idle_ms__gt=0)).values(ANNOTATOR)
        rows = timed.annotate(
            n=Count("id"), active=Percentiles("active_ms", [0.5, 0.9]), idle=Avg("idle_ms")
        ).order_by("-n", ANNOTATOR)
        people = _people([row[ANNOTATOR] for row in rows])
        return [
            Pace(
                people[row[ANNOTATOR]],
                row["n"],
                *(float(milliseconds) / 1000 for milliseconds in (*row["active"], row["idle"])),
            )
            for row in rows
        ]


def _actions_by(key: str, rows: Iterable[Mapping[str, Any]]) -> dict[Any, Actions]:
    counts: defaultdict[Any, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row[key]][row["action"]] += row["n"]
    return {value: _actions(counted) for value, counted in counts.items()}


def _actions(counted: Counter[str]) -> Actions:
    return Actions(*(counted[action] for action in Action.values))


def _people(keys: Iterable[int]) -> dict[int, Person]:
    rows = User.objects.filter(pk__in=list(keys)).values_list("pk", "username", "display_name")
    return {key: Person(username, display_name) for key, username, display_name in rows}
