"""Waiting for a database that restarts, no connection while waiting for somebody else, and up-to-date statistics."""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)
from django.db.models import Model
from psycopg.errors import IdleInTransactionSessionTimeout

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
# What Django raises for a lost connection; a connection that is already closed is an InterfaceError.
CONNECTION_ERRORS = (DatabaseError, InterfaceError)
RETRY_AFTER = (0.2, 1.0, 3.0)  # seconds; a restarting database is back by then
MANY_ROWS = 200
REFRESH_EVERY = 10.0  # seconds: an import writes many batches


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database did not answer in time: it is away, a lock was held too long, or a timeout ended the query.

    The same request may succeed a moment later.
    """
    if isinstance(error, OperationalError | InterfaceError):
        return True
    return isinstance(error, InternalError) and isinstance(error.__cause__, IdleInTransactionSessionTimeout)


def retry_on_lost_connection(step: Callable[[], Result], pauses: Sequence[float] = RETRY_AFTER) -> Result:
    """Run a step that is safe to repeat; after a lost connection run it again, `pauses` seconds apart.

    Not inside a transaction, which a lost connection ends. Raises the error of the last attempt; DataError and
    IntegrityError at once, because the same values fail again.
    """
    for pause in pauses:
        try:
            return step()
        except (DataError, IntegrityError):
            raise
        except CONNECTION_ERRORS:
            logger.warning("the database cannot be reached; trying again in %s s", pause, exc_info=True)
            time.sleep(pause)
            close_old_connections()
    return step()


def release_connection() -> None:
    """Close this thread's connection while it waits for somebody else; a transaction keeps its own."""
    if not connection.in_atomic_block:
        connection.close()


# When this process last refreshed the statistics of these tables, in seconds of the monotonic clock.
_refreshed: dict[tuple[str, ...], float] = {}


def refresh_statistics(rows: int, *models: type[Model]) -> None:
    """After the transaction, have the planner count the tables of these models if `rows` rows are new in them.

    PostgreSQL does so by itself a minute later, and for a large table only when a tenth of it has changed. Until then
    it believes a new project to be empty, and reads all its rows where an index would give the first.
    """
    tables = tuple(model._meta.db_table for model in models)
    now = time.monotonic()
    if rows >= MANY_ROWS and now - _refreshed.get(tables, float("-inf")) >= REFRESH_EVERY:
        _refreshed[tables] = now
        transaction.on_commit(partial(_analyze, tables), robust=True)


def _analyze(tables: Sequence[str]) -> None:
    names = ", ".join(map(connection.ops.quote_name, tables))
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE (SKIP_LOCKED) {names}")
