"""Rows that take seconds to create, shared by the tests of one file."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from pytest_django import DjangoDbBlocker

# Files that use shared_rows, or something else that takes as long to create, and folders of such files: each runs in
# one process, or every process would create it.
FILES = (
    "tests/access/",
    "tests/annotation/demo/",
    "tests/assessment/demo/",
    "tests/defects/",
    "tests/frontend/assessment/test_conversations.py",
    "tests/preference/data/test_study_exports.py",
)


@contextmanager
def shared_rows(blocker: DjangoDbBlocker) -> Iterator[None]:
    """A transaction around the tests of a module, for a fixture with module scope. It is rolled back at the end."""
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)
