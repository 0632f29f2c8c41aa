"""Boards about a project's batches: their states, the rounds they need, acceptance rates, and who judges how much."""

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

MAX_WEEKS = 26  # longer courses are shown by month
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class EndedRound:
    """A round with its verdict. on: the day of the verdict."""

    group: str
    number: int
    is_accepted: bool
    on: date


@dataclass(frozen=True, slots=True)
class ControllerLoad:
    """How much a controller judged. wrong: share of labels corrected. seconds: mean active time per dialogue."""

    username: str
    name: str
    samples: int
    judged: int
    wrong: Proportion
    seconds: float


class Boards:
    """The numbers of one project: two queries on its batches and one on the judgements."""

    def __init__(self, project: Project) -> None:
        self.project = project

    @cached_property
    def ended(self) -> list[EndedRound]:
        """Every accepted or returned round that people labelled, in the order of the verdicts."""
        rows = Round.objects.filter(project=self.project, ended_at__isnull=False, machine="")
        rows = rows.order_by("ended_at", "pk")
        return [
            EndedRound(group, number, state == RoundState.ACCEPTED, timezone.localtime(at).date())
            for group, number, state, at in rows.values_list("group", "number", "state", "ended_at")
            if at
        ]

    def by_state(self) -> dict[str, int]:
        """Batches by the state of their latest round. A returned batch counts as open, in its next round."""
        rows = Round.objects.filter(project=self.project).exclude(state=RoundState.RETURNED)
        counts = dict(rows.order_by().values_list("state").annotate(n=Count("pk")))
        return {state: counts.get(state, 0) for state in RoundState if state != RoundState.RETURNED}

    def rounds_needed(self) -> dict[int, int]:
        """Accepted batches by the number of their last round, without gaps from 1."""
        counts = Counter(row.number for row in self.ended if row.is_accepted)
        return {number: counts[number] for number in range(1, max(counts, default=0) + 1)}

    def share_with_several_rounds(self) -> Proportion:
        """The share of accepted batches that were returned at least once (DiQAD: 31 %)."""
        accepted = [row for row in self.ended if row.is_accepted]
        return proportion(sum(row.number > 1 for row in accepted), len(accepted))

    def by_group(self) -> dict[str, Proportion]:
        """The share of ended rounds that were accepted, by the group that labelled them; "": anybody."""
        return dict(sorted(_share_accepted_by(lambda row: row.group, self.ended).items()))

    def over_time(self) -> tuple[str, list[tuple[date, Proportion]]]:
        """The unit, "week" or "month", and the share accepted in each, including those without a verdict."""
        days = [row.on for row in self.ended]
        unit = "month" if days and max(days) - min(days) > timedelta(weeks=MAX_WEEKS) else "week"
        start = _month if unit == "month" else _monday
        shares = _share_accepted_by(lambda row: start(row.on), self.ended)
        return unit, [(day, shares.get(day, proportion(0, 0))) for day in _without_gaps(shares, start)]

    def loads(self) -> list[ControllerLoad]:
        """Controllers by how much they judged, most first."""
        rows = Judgement.objects.filter(item__sample__round__project=self.project, superseded_at=None)
        # Grouped by sample and summed here: counting distinct samples would make the database sort every judgement.
        by_sample = rows.order_by().values_list("controller", "item__sample").annotate(
            judged=Count("pk"), wrong=Count("pk", filter=Q(is_right=False)), active=Sum("active_ms")
        )  # fmt: skip
        by_person = defaultdict(list)
        for person, _sample, judged, wrong, active in by_sample:
            by_person[person].append((judged, wrong, active))
        names = User.objects.only("username", "display_name").in_bulk(by_person)
        loads = [_load(names[person], samples) for person, samples in by_person.items()]
        return sorted(loads, key=lambda load: (-load.judged, load.username))


def _load(controller: User, samples: Sequence[tuple[int, int, int]]) -> ControllerLoad:
    judged, wrong, active = (sum(part) for part in zip(*samples, strict=True))
    return ControllerLoad(
        controller.username,
        controller.shown_name,
        len(samples),
        judged,
        proportion(wrong, judged),
        active / judged / 1000,
    )


def _share_accepted_by(key: Callable[[EndedRound], Key], rows: Iterable[EndedRound]) -> dict[Key, Proportion]:
    verdicts_by_key: dict[Key, list[bool]] = defaultdict(list)
    for row in rows:
        verdicts_by_key[key(row)].append(row.is_accepted)
    return {name: proportion(sum(verdicts), len(verdicts)) for name, verdicts in verdicts_by_key.items()}


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _month(day: date) -> date:
    return day.replace(day=1)


def _without_gaps(starts: Iterable[date], start: Callable[[date], date]) -> list[date]:
    known = sorted(starts)
    filled = set(known)
    for earlier, later in pairwise(known):
        filled |= {start(earlier + timedelta(days=n)) for n in range((later - earlier).days)}
    return sorted(filled)
