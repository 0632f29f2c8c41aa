"""Rows that take seconds to create, shared by the tests of one file."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from pytest_django import DjangoDbBlocker


@contextmanager
def shared_rows(blocker: DjangoDbBlocker) -> Iterator[None]:
    """A transaction around the tests of a module, for a fixture with module scope. It is rolled back at the end."""
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)
