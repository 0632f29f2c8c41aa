"""When a project's open work will be done, at the pace of its last days."""

import math
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.db.models import Count, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from annotation.tasks.models.work import HELD, Assignment, AssignmentState, Task
from measures.forecast import Forecast, forecast_end
from projects.models import Project

WINDOW = 14  # full days


@dataclass(frozen=True, slots=True)
class ProjectForecast:
    """low, middle, high: the days of the end; None as in Forecast."""

    numbers: Forecast
    today: date

    @property
    def middle(self) -> date | None:
        return self._after(self.numbers.days)

    @property
    def low(self) -> date | None:
        return self._after(self.numbers.low)

    @property
    def high(self) -> date | None:
        return self._after(self.numbers.high)

    def _after(self, days: float | None) -> date | None:
        """Today is the first day on which work goes on."""
        return None if days is None else self.today + timedelta(days=max(0, math.ceil(days) - 1))


def forecast_of(project: Project) -> ProjectForecast:
    """Two or three queries. A piece of work is one person's dialogue; imported work is not counted."""
    today = timezone.localdate()
    return ProjectForecast(forecast_end(finished_by_day(project, today), open_work(project)), today)


def open_work(project: Project) -> int:
    """Dialogues that people may still take, counted as often as different people are wanted, and those in work."""
    slots = Task.objects.filter(project=project, open_slots__gt=0).aggregate(n=Sum("open_slots"))["n"] or 0
    return slots + Assignment.objects.filter(project=project, state__in=HELD).count()


def finished_by_day(project: Project, today: date) -> list[int]:
    """Of the last WINDOW full days, beginning with the first work if that is later."""
    begin = today - timedelta(days=WINDOW)
    since = timezone.make_aware(datetime.combine(begin, time.min))
    rows = Assignment.objects.filter(
        project=project, state=AssignmentState.SUBMITTED, submitted_at__gte=since, annotator__imported=False
    )
    by_day = rows.order_by().annotate(day=TruncDate("submitted_at")).values_list("day")
    found = dict(by_day.annotate(n=Count("pk")))
    days = [begin + timedelta(days=n) for n in range(WINDOW)]
    worked = [day for day in days if found.get(day)]
    if not worked:
        return []
    earlier = Assignment.objects.filter(
        project=project, state=AssignmentState.SUBMITTED, submitted_at__lt=since
    ).exists()
    first = days[0] if earlier else worked[0]
    return [found.get(day, 0) for day in days if day >= first]
