"""How long PostgreSQL lets a statement of ours wait or run: one stuck lock must not hold every thread of a server."""

from __future__ import annotations

import os
from typing import Final

from environs import Env

from config.checked_values import AT_LEAST_0

# Seconds; 0: without limit. A request gives up early, because its thread serves everybody. Jobs, migrations and
# commands may run for long, and their transactions wait for no one but the database.
WEB: Final = {"lock_timeout": 10.0, "statement_timeout": 30.0, "idle_in_transaction_session_timeout": 60.0}
OTHERS: Final = {"lock_timeout": 60.0, "statement_timeout": 0.0, "idle_in_transaction_session_timeout": 600.0}
VARIABLES: Final = {
    "lock_timeout": "DATABASE_LOCK_TIMEOUT",
    "statement_timeout": "DATABASE_STATEMENT_TIMEOUT",
    "idle_in_transaction_session_timeout": "DATABASE_IDLE_TIMEOUT",
}
PROCESS: Final = "LAPIDARY_PROCESS"


def mark_web_process() -> None:
    """Call it before the settings are read; `config.wsgi` does."""
    os.environ.setdefault(PROCESS, "web")


def is_web_process(env: Env) -> bool:
    return env.str(PROCESS, default="") == "web"


def connection_options(env: Env, given: str = "") -> str:
    """libpq's `options` with the timeouts of this process; those that are given already are kept and win."""
    defaults = WEB if is_web_process(env) else OTHERS
    seconds = {
        name: env.float(VARIABLES[name], default=default, validate=AT_LEAST_0)
        for name, default in defaults.items()
    }
    settings = [f"-c {name}={round(value * 1000)}" for name, value in seconds.items() if value]
    return " ".join([*settings, given]).strip()
