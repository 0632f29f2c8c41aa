"""Boards over a project's batches: how far they are, how many rounds they need, who accepts, who judges how much."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from django.db.models import Count, Q, Sum
from django.utils import timezone

from accounts.models import User
from annotation.batch_review.models import Judgement
from annotation.tasks.models.rounds import Round, RoundState
from measures.proportion import Proportion, proportion
from projects.models import Project

MOST_WEEKS = 26  # beyond them a month is the unit
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Ended:
    """A round with its verdict. on: the day of the verdict."""

    group: str
    number: int
    is_accepted: bool
    on: date


@dataclass(frozen=True, slots=True)
class Load:
    """What a controller judged. seconds: active, the mean of a dialogue. wrong: share of labels that they corrected."""

    username: str
    name: str
    samples: int
    judged: int
    wrong: Proportion
    seconds: float


class Boards:
    """The numbers of one project, in two queries over its batches and one over the judgements."""

    def __init__(self, project: Project) -> None:
        self.project = project

    @cached_property
    def ended(self) -> list[Ended]:
        """Every round that was accepted or returned, the first verdict first."""
        rows = Round.objects.filter(project=self.project, ended_at__isnull=False).order_by("ended_at", "pk")
        return [
            Ended(group, number, state == RoundState.ACCEPTED, timezone.localtime(at).date())
            for group, number, state, at in rows.values_list("group", "number", "state", "ended_at")
            if at
        ]

    def by_state(self) -> dict[str, int]:
        """Batches by the state of their live round: every batch is in one. A returned one is open in its next round."""
        rows = Round.objects.filter(project=self.project).exclude(state=RoundState.RETURNED)
        counts = dict(rows.order_by().values_list("state").annotate(n=Count("pk")))
        return {state: counts.get(state, 0) for state in RoundState if state != RoundState.RETURNED}

    def rounds_needed(self) -> dict[int, int]:
        """Accepted batches by the number of their last round, without gaps from 1."""
        counts = Counter(one.number for one in self.ended if one.is_accepted)
        return {number: counts[number] for number in range(1, max(counts, default=0) + 1)}

    def needing_more(self) -> Proportion:
        """The share of accepted batches that were returned at least once (DiQAD: 31 %)."""
        accepted = [one for one in self.ended if one.is_accepted]
        return proportion(sum(one.number > 1 for one in accepted), len(accepted))

    def by_group(self) -> dict[str, Proportion]:
        """Accepted rounds of all that ended, by the group that labelled them; "" is anybody."""
        return dict(sorted(_accepted_by(lambda one: one.group, self.ended).items()))

    def over_time(self) -> tuple[str, list[tuple[date, Proportion]]]:
        """The unit, "week" or "month", and what was accepted in each, those without a verdict included."""
        days = [one.on for one in self.ended]
        unit = "month" if days and max(days) - min(days) > timedelta(weeks=MOST_WEEKS) else "week"
        start = _month if unit == "month" else _monday
        counted = _accepted_by(lambda one: start(one.on), self.ended)
        return unit, [(at, counted.get(at, proportion(0, 0))) for at in _without_gaps(counted, start)]

    def loads(self) -> list[Load]:
        """Controllers, who judged most first."""
        rows = Judgement.objects.filter(item__sample__round__project=self.project, superseded_at=None)
        # By sample, and added up here: to count distinct samples the database would sort every judgement.
        counted = rows.order_by().values_list("controller", "item__sample").annotate(
            judged=Count("pk"), wrong=Count("pk", filter=Q(is_right=False)), active=Sum("active_ms")
        )  # fmt: skip
        by_person = defaultdict(list)
        for person, _sample, judged, wrong, active in counted:
            by_person[person].append((judged, wrong, active))
        names = User.objects.only("username", "display_name").in_bulk(by_person)
        loads = [_load(names[person], samples) for person, samples in by_person.items()]
        return sorted(loads, key=lambda one: (-one.judged, one.username))


def _load(controller: User, samples: Sequence[tuple[int, int, int]]) -> Load:
    judged, wrong, active = (sum(part) for part in zip(*samples, strict=True))
    return Load(
        controller.username,
        controller.shown_name,
        len(samples),
        judged,
        proportion(wrong, judged),
        active / judged / 1000,
    )


def _accepted_by(key: Callable[[Ended], Key], rows: Iterable[Ended]) -> dict[Key, Proportion]:
    found: dict[Key, list[bool]] = defaultdict(list)
    for one in rows:
        found[key(one)].append(one.is_accepted)
    return {name: proportion(sum(verdicts), len(verdicts)) for name, verdicts in found.items()}


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _month(day: date) -> date:
    return day.replace(day=1)


def _without_gaps(starts: Iterable[date], start: Callable[[date], date]) -> list[date]:
    known = sorted(starts)
    filled = set(known)
    for one, following in pairwise(known):
        filled |= {start(one + timedelta(days=n)) for n in range((following - one).days)}
    return sorted(filled)
