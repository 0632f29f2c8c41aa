"""Steps on a database that restarts."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, InterfaceError, OperationalError

from common.database import retry_on_lost_connection

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
