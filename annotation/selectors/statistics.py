"""Statistics of an authoring project. Everything is counted by the database from the log; nothing is guessed.

A dialogue counts when it is finished and no expert vetoed it. An utterance has an action when candidates were shown
for it; openings and turns written offline had none, and count as utterances only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Aggregate, Avg, Count, F, FloatField, Q, QuerySet
from django.db.models.functions import Length, TruncDate

from annotation.models import Turn
from dialogues.models import Action, Dialogue, DialogueState, ReviewState, Split, Utterance
from projects.models import Project

HAD_CANDIDATES = Q(candidate_set__isnull=False) & ~Q(action="")
WIDEST_DISTANCE = 50  # characters; larger edits share the last bar


class Percentile(Aggregate):
    """percentile_cont: `share` between 0 and 1, interpolated."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: str, share: float) -> None:
        super().__init__(expression, share=share)


@dataclass(frozen=True, slots=True)
class Actions:
    """How many utterances came about by each action."""

    select: int
    revise: int
    rewrite: int

    @property
    def total(self) -> int:
        return self.select + self.revise + self.rewrite

    def share(self, action: str) -> float | None:
        """Between 0 and 1; None when there is nothing to divide by."""
        return getattr(self, action) / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of Table 1. mean_length: characters per utterance, None without utterances."""

    split: str
    dialogues: int
    utterances: int
    mean_length: float | None
    actions: Actions


@dataclass(frozen=True, slots=True)
class ActionsOf:
    """The actions of one day, or of one annotator."""

    key: Any
    actions: Actions


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds per turn of one annotator, active and idle apart; medians, and the 90th percentile of the active ones."""

    annotator: str
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


def actions_by_day(project: Project, since: date | None = None) -> list[ActionsOf]:
    """The actions of every day on which somebody wrote, oldest first; days in the time zone of the server."""
    turns = _turns(project).filter(stored_at__date__gte=since) if since else _turns(project)
    rows = turns.annotate(day=TruncDate("stored_at")).values("day").annotate(**_actions()).order_by("day")
    return [ActionsOf(row["day"], _as_actions(row)) for row in rows]


def actions_by_annotator(project: Project) -> list[ActionsOf]:
    """The actions of every annotator, those with most turns first."""
    by_person = _turns(project).values(name=F("assignment__annotator__username"))
    rows = by_person.annotate(n=Count("id"), **_actions()).order_by("-n", "name")
    return [ActionsOf(row["name"], _as_actions(row)) for row in rows]


def edit_distances(project: Project) -> list[Bar]:
    """Revised utterances by edit distance in characters; WIDEST_DISTANCE holds it and everything above."""
    revised = _utterances(project).filter(action=Action.REVISE, edit_distance__isnull=False)
    counts = dict(revised.values_list("edit_distance").annotate(n=Count("id")).order_by())
    bars = [Bar(value, counts.get(value, 0)) for value in range(1, WIDEST_DISTANCE)]
    return [*bars, Bar(WIDEST_DISTANCE, sum(n for value, n in counts.items() if value >= WIDEST_DISTANCE))]


def positions_chosen(project: Project) -> list[Bar]:
    """Selected and revised utterances by the displayed place (from 1) of their source.

    The display order is random, so places that differ much say that people read only the first ones.
    """
    taken = _utterances(project).filter(action__in=[Action.SELECT, Action.REVISE], source__isnull=False)
    rows = taken.values_list("source").annotate(n=Count("id")).order_by("source")
    return [Bar(source + 1, n) for source, n in rows]


def paces(project: Project) -> list[Pace]:
    """Seconds per turn by annotator, most turns first."""
    rows = (
        _turns(project)
        .filter(Q(active_ms__gt=0) | Q(idle_ms__gt=0))
        .values(name=F("assignment__annotator__username"))
        .annotate(
            turns=Count("id"),
            active=Percentile("active_ms", 0.5),
            active_p90=Percentile("active_ms", 0.9),
            idle=Percentile("idle_ms", 0.5),
        )
        .order_by("-turns", "name")
    )
    return [
        Pace(row["name"], row["turns"], row["active"] / 1000, row["active_p90"] / 1000, row["idle"] / 1000)
        for row in rows
    ]
