"""Steps on a database that restarts, and what its planner knows."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, InterfaceError, OperationalError, connection

from accounts.models import User
from common.database import MANY_ROWS, refresh_statistics, retry_on_lost_connection

PAUSES = (0.0, 0.0)
pytestmark = pytest.mark.django_db


def failing(*errors: Exception) -> Callable[[], str]:
    """A step that raises these errors, one at each call, and then succeeds."""
    left = list(errors)

    def step() -> str:
        if left:
            raise left.pop(0)
        return "stored"

    return step


def test_a_step_is_repeated_until_the_database_is_back() -> None:
    step = failing(OperationalError("server closed"), InterfaceError("connection already closed"))
    assert retry_on_lost_connection(step, PAUSES) == "stored"


def test_the_last_error_is_raised() -> None:
    step = failing(*(OperationalError(str(number)) for number in range(3)))
    with pytest.raises(OperationalError, match="2"):
        retry_on_lost_connection(step, PAUSES)


def test_values_that_the_database_refuses_are_not_sent_again() -> None:
    step = failing(IntegrityError("duplicate key"))
    with pytest.raises(IntegrityError):
        retry_on_lost_connection(step, PAUSES)
    assert step() == "stored"


def counted_rows() -> float:
    """What the planner believes of the table of users; -1 before anything has counted them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'accounts_user'")
        (rows,) = cursor.fetchone()
    return float(rows)


@pytest.mark.django_db
def test_after_many_new_rows_the_planner_knows_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr("common.database._refreshed", {})
    User.objects.bulk_create(User(username=f"n{number}") for number in range(MANY_ROWS))
    with django_capture_on_commit_callbacks(execute=True):
        refresh_statistics(MANY_ROWS, User)
    assert counted_rows() == User.objects.count()


@pytest.mark.django_db
def test_few_rows_and_the_next_batch_of_an_import_are_not_counted(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr("common.database._refreshed", {})
    with django_capture_on_commit_callbacks() as callbacks:
        refresh_statistics(MANY_ROWS - 1, User)
        assert not callbacks
        for _batch in range(3):
            refresh_statistics(MANY_ROWS, User)
    assert len(callbacks) == 1
