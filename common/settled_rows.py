"""Reading a growing table in the order of its ids, so that whoever goes on from the last one misses nothing.

Ids are given out when a row is written, not when it becomes visible: a transaction that commits late may add a row
below one that was read already. Only rows up to a settled id may be read by somebody who continues behind them.
"""

import time
from http import HTTPStatus
from typing import Final

from django.db import connection
from django.db.models import Max, Model
from django.utils.translation import gettext as _

from common.refusals import Refusal

WAIT_SECONDS: Final = 1.0
LOOK_EVERY: Final = 0.02
# Whatever writes to a table holds this lock from before it takes an id until its transaction ends.
WRITERS = """
    SELECT virtualtransaction FROM pg_locks
    WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = %s::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND pid IS DISTINCT FROM pg_backend_pid()
"""


def settled_id(model: type[Model], *, wait_seconds: float = WAIT_SECONDS) -> int:
    """The newest id below which no row can appear any more; 0 for an empty table.

    Waits for the transactions that were writing when it was called, usually milliseconds. Raises Refusal not_settled
    (503) if one of them takes longer than wait_seconds.
    """
    newest: int = model._default_manager.aggregate(newest=Max("pk"))["newest"] or 0
    deadline = time.monotonic() + wait_seconds
    waited_for = _writers(model)
    while waited_for:
        if time.monotonic() > deadline:
            raise _not_settled()
        time.sleep(LOOK_EVERY)
        waited_for &= _writers(model)
    return newest


def _writers(model: type[Model]) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(WRITERS, [f'"{model._meta.db_table}"'])
        return {row[0] for row in cursor.fetchall()}


def _not_settled() -> Refusal:
    return Refusal(
        "not_settled",
        _("A large change is being stored, so the next rows are not final yet."),
        _("Send the same request again in a moment."),
        status=HTTPStatus.SERVICE_UNAVAILABLE,
    )
