"""How Django connects to PostgreSQL, from the environment."""

from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from environs import Env

from config.checked_values import AT_LEAST_0
from config.database_timeouts import connection_options, is_web_process

TRANSACTION = "transaction"
# Values go to PostgreSQL apart from the statement, and one that a connection sends again is prepared there. psycopg's
# default, the sixth time, would come late: requests are spread over the connections of many threads.
PREPARED = {"server_side_binding": True, "prepare_threshold": 1}


def pooler(env: Env) -> str:
    """DATABASE_POOLER: "transaction" where DATABASE_URL names a PgBouncer in that mode, else empty."""
    mode = env.str("DATABASE_POOLER", default="")
    if mode not in ("", TRANSACTION):
        raise ImproperlyConfigured(
            f"DATABASE_POOLER={mode} is not understood. Write {TRANSACTION}, or leave it out."
        )
    return mode


def connection_settings(env: Env, url: str) -> dict[str, Any]:
    """An entry of DATABASES."""
    database: dict[str, Any] = {**dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True)}
    options = database.setdefault("OPTIONS", {})
    options.setdefault("connect_timeout", 5)
    if pooler(env) == TRANSACTION:
        # A cursor stays on one connection, as prepared statements do, and the next query may use another.
        database["DISABLE_SERVER_SIDE_CURSORS"] = True
    else:  # PgBouncer refuses connections with options; its connect_query sets the timeouts
        options["options"] = connection_options(env, options.get("options", ""))
        if env.bool("DATABASE_PREPARE", default=is_web_process(env)):  # docs/decisions/0027
            options |= PREPARED
    # How many connections the threads of a process share; 0: each thread keeps its own. For workers with many threads:
    # Celery disconnects a thread after every task, and reconnecting costs more than the queries of a short one.
    if size := env.int("DATABASE_POOL", default=0, validate=AT_LEAST_0):
        database["CONN_MAX_AGE"] = 0
        options["pool"] = {"min_size": 1, "max_size": size}
    return database
