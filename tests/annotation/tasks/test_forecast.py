"""The forecast of a project's end: which days and which work it counts, and what page and API say."""

from datetime import date, timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.formats import date_format

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.tasks.models.work import Assignment, AssignmentState, Task
from annotation.tasks.selectors.forecast import forecast_of
from projects.models import Project
from tests.annotation.conftest import imported

pytestmark = pytest.mark.django_db


def finished(project: Project, annotator: User, per_day: int, days: int = 14) -> None:
    """On each of the last days the person finished so many dialogues."""
    dialogues = iter(imported(project, per_day * days))
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    now = timezone.now()
    for day in range(1, days + 1):
        for _n in range(per_day):
            dialogue = next(dialogues)
            Assignment.objects.create(
                task=Task.objects.get(dialogue=dialogue),
                project=project,
                annotator=annotator,
                dialogue=dialogue,
                state=AssignmentState.SUBMITTED,
                claim_id=uuid4(),
                lease_until=now,
                submitted_at=now - timedelta(days=day),
            )
    Task.objects.filter(assignments__state=AssignmentState.SUBMITTED).update(open_slots=0)


def test_a_steady_pace_gives_a_date(quality: Project, anna: User) -> None:
    finished(quality, anna, 2)
    today = timezone.localdate()
    forecast = forecast_of(quality)
    # Three dialogues for two people each are open, and two a day are done.
    assert (forecast.numbers.open, forecast.numbers.per_day) == (6, 2)
    assert forecast.low == forecast.high == today + timedelta(days=2)


def test_the_page_says_it_in_a_sentence(quality: Project, anna: User, mara: User, client: Client) -> None:
    client.force_login(mara)
    page = client.get("/p/quality/statistics/").text
    assert "Nobody finished anything in the 14 days before today" in page
    finished(quality, anna, 2)
    assert "At the pace of the last 14 days, on " in client.get("/p/quality/statistics/").text


def shown_date(day: date) -> str:
    return date_format(day, "DATE_FORMAT")


def test_the_page_names_the_first_and_the_last_day_of_an_uneven_pace(
    quality: Project, anna: User, mara: User, client: Client
) -> None:
    finished(quality, anna, 1)
    finished(quality, anna, 4, days=4)
    forecast = forecast_of(quality)
    assert forecast.low is not None
    assert forecast.middle is not None
    assert forecast.high is not None
    assert forecast.low < forecast.high
    client.force_login(mara)
    page = client.get("/p/quality/statistics/").text
    low, middle, high = map(shown_date, (forecast.low, forecast.middle, forecast.high))
    assert f"At the pace of the last 14 days, between {low} and {high}." in page
    assert f"Most likely around {middle}." in page
    assert "6 dialogues are open" in page
    assert "2.1 a day were finished" in page


def test_few_days_are_too_few(quality: Project, anna: User, mara: User, client: Client) -> None:
    finished(quality, anna, 1, days=2)
    client.force_login(mara)
    assert (
        "Not enough data for a forecast: people worked on 2 of" in client.get("/p/quality/statistics/").text
    )
    answer = client.get("/api/v1/projects/quality/forecast/").json()
    assert (answer["open"], answer["worked"], answer["low"]) == (6, 2, None)
