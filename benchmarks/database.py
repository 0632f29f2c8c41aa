"""A database for benchmarks, created and dropped in one run; other databases are not touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
REDIS_DATABASE = 15


def set_up(var: Path | None = None) -> None:
    """Configure Django on the embedded servers under `var` (default: LAPIDARY_VAR), unless URLs are set."""
    import django

    from config import embedded

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if var is not None:
        os.environ["LAPIDARY_VAR"] = str(var)
    home = Path(os.environ.setdefault("LAPIDARY_VAR", str(ROOT / "var"))).resolve()
    os.environ.setdefault("REDIS_URL", embedded.redis_url(home, REDIS_DATABASE))
    os.environ.setdefault("API_RATE_LIMIT", "1000000/min")
    django.setup()


@contextmanager
def scratch_database(name: str = "") -> Iterator[None]:
    """Django's connection points to a fresh, migrated database inside the block. Call `set_up` first.

    name: distinguishes several that exist at the same time.
    """
    from django.core.cache import cache
    from django.db import connection

    before = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"benchmark_{os.getpid()}{name and '_'}{name}"
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    cache.clear()
    try:
        yield
    finally:
        cache.clear()
        _end_other_connections()
        connection.creation.destroy_test_db(before, verbosity=0)


def _end_other_connections() -> None:
    # A killed child's connection lives until PostgreSQL notices.
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
