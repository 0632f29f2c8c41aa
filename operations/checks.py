"""Checks that `check`, `migrate` and the servers run at their start."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from config.database_version import OLDEST_POSTGRES
from operations.retention.ages import chosen_ages


@register(Tags.database)
def check_postgres_version(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """An older server would take the migrations and leave a rule out. `migrate` and `check --database default` ask."""
    errors: list[CheckMessage] = []
    for alias in databases or ():
        with connections[alias].cursor() as cursor:
            cursor.execute("SHOW server_version_num")
            major = int(cursor.fetchone()[0]) // 10000
        if major < OLDEST_POSTGRES:
            hint = f"Use PostgreSQL {OLDEST_POSTGRES} or newer."
            errors.append(Error(f"PostgreSQL {major} is too old.", hint=hint, id="operations.E001"))
    return errors


@register()
def check_retention(**_options: Any) -> list[CheckMessage]:
    """RETENTION names kinds of leftovers and days."""
    try:
        chosen_ages({})
    except ValueError as error:
        return [
            Error(
                f"RETENTION: {error}",
                hint="For example: RETENTION=exports=30,checkpoints=never",
                id="operations.E002",
            )
        ]
    return []
