"""What `manage.py doctor` looks at. Every check is a small function that returns findings in plain words."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from config import embedded
from embedded.home import EmbeddedError
from generation.models import Generator
from jobs.selectors import live_workers

State = Literal["ok", "warning", "problem"]
GIGABYTE: Final = 1024**3
OLDEST_POSTGRES: Final = 14
MODEL_SECONDS: Final = 120
WORKER_COMMANDS: Final = {
    "default": "celery -A config worker -Q default --beat",
    "gpu": "celery -A config worker -Q gpu --pool solo",
}
HF: Final = "generation.backends.hf.HFBackend"


@dataclass(frozen=True, slots=True)
class Finding:
    state: State
    what: str
    remedy: str = ""


def embedded_servers() -> Iterable[Finding]:
    """Start them where they are in use; doctor itself starts nothing before, so that it can say what is wrong."""
    if settings.DATABASE_URL != embedded.database_url(settings.VAR):
        return
    home = embedded.locate(settings.VAR)
    try:
        embedded.use(home, settings.VAR)
    except (EmbeddedError, OSError) as error:
        yield Finding(
            "problem", f"The embedded PostgreSQL and Redis do not start: {error}", f"See {home.log}."
        )
    else:
        yield Finding("ok", f"Embedded PostgreSQL and Redis run; their data are in {home.root}.")


def database() -> Iterable[Finding]:
    try:
        connection.ensure_connection()
        version = connection.cursor().execute("SHOW server_version").fetchone()[0]
    except DatabaseError as error:
        yield Finding("problem", f"The database does not answer: {first_line(error)}", "Check DATABASE_URL.")
        return
    if int(version.split(".")[0]) < OLDEST_POSTGRES:
        yield Finding("problem", f"PostgreSQL {version} is too old.", f"Use {OLDEST_POSTGRES} or newer.")
    else:
        yield Finding("ok", f"The database answers: PostgreSQL {version.split()[0]}.")


def migrations() -> Iterable[Finding]:
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        yield Finding(
            "problem", "Migrations cannot be looked at without the database.", "See the line above."
        )
        return
    if pending:
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _ in pending[:3])
        yield Finding(
            "problem", f"{len(pending)} migrations are pending: {names} …", "Run: manage.py migrate"
        )
    else:
        yield Finding("ok", "Every migration is applied.")


def broker() -> Iterable[Finding]:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=3, socket_timeout=3) as client:
            server, policy = client.info("server"), client.info("memory").get("maxmemory_policy")
            persistent = client.info("persistence").get("aof_enabled")
    except redis.RedisError as error:
        yield Finding(
            "problem", f"The broker (Redis) does not answer: {first_line(error)}", "Check REDIS_URL."
        )
        return
    yield Finding("ok", f"The broker answers: Redis {server['redis_version']}.")
    if policy != "noeviction":
        yield Finding(
            "warning", f"Redis may drop waiting tasks ({policy}).", "Set: maxmemory-policy noeviction"
        )
    if not persistent:
        yield Finding("warning", "Redis forgets waiting tasks when it restarts.", "Set: appendonly yes")


def workers() -> Iterable[Finding]:
    for queue, command in WORKER_COMMANDS.items():
        try:
            names = sorted(live_workers(queue).values_list("name", flat=True))
        except DatabaseError:
            yield Finding(
                "problem", f"Workers of {queue!r} are unknown until the database is in order.", "See above."
            )
            continue
        if names:
            yield Finding("ok", f"Queue {queue!r} is served by {len(names)}: {', '.join(names)}.")
        else:
            yield Finding("problem", f"No worker is alive for the queue {queue!r}.", f"Start one: {command}")


def generators() -> Iterable[Finding]:
    """Load every configured model in a process of its own: this one must never import torch."""
    if find_spec("torch") is None:
        yield Finding(
            "warning", "Models cannot be checked here: torch is not installed.", "Run doctor on a worker."
        )
        return
    chosen: dict[str, tuple[str, Mapping[str, object]]] = {
        "the default model": (HF, {"model": settings.GENERATION_MODEL})
    }
    try:
        chosen |= {f"the model {row.slug!r}": (row.backend, row.options) for row in Generator.objects.all()}
    except DatabaseError:
        yield Finding("warning", "Only the default model is checked: the others are listed in the database.")
    for name, (backend, options) in chosen.items():
        yield check_model(name, backend, options)


def check_model(name: str, backend: str, options: Mapping[str, object]) -> Finding:
    command = [sys.executable, "-m", "config.model_check", backend, json.dumps(options)]
    try:
        run = subprocess.run(
            command, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=MODEL_SECONDS
        )
        answer = json.loads(run.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return Finding("problem", f"{name} did not load in {MODEL_SECONDS} s.", "Choose a smaller model.")
    except (IndexError, ValueError):
        return Finding(
            "problem", f"{name} does not load: {last_line(run.stderr)}", "See the log of a worker."
        )
    if cause := answer.get("cause"):
        return Finding("problem", f"{name} cannot be used: {cause}", answer["remedy"])
    return Finding("ok", f"{name} can be used: {answer['version']}.")


def public_url() -> Iterable[Finding]:
    url = urlsplit(settings.PUBLIC_URL)
    origin = f"{url.scheme}://{url.netloc}"
    if url.scheme not in {"http", "https"} or not url.hostname:
        yield Finding(
            "problem", f"PUBLIC_URL is no web address: {settings.PUBLIC_URL!r}", "https://your.host"
        )
        return
    yield Finding("ok", f"The public address is {settings.PUBLIC_URL}.")
    if url.hostname not in settings.ALLOWED_HOSTS and "*" not in settings.ALLOWED_HOSTS:
        yield Finding("problem", f"Requests to {url.hostname} are refused.", "Add it to ALLOWED_HOSTS.")
    if origin not in settings.CSRF_TRUSTED_ORIGINS:
        yield Finding("problem", f"Forms sent from {origin} are refused.", "Add it to CSRF_TRUSTED_ORIGINS.")
    if url.path.strip("/"):
        yield Finding("problem", "PUBLIC_URL has a path.", "Give Lapidary a host name of its own.")
    if url.scheme == "http" and url.hostname not in {"localhost", "127.0.0.1"}:
        yield Finding(
            "warning", "Passwords cross the network unencrypted.", "Put TLS in front; PUBLIC_URL=https://…"
        )


def secrets() -> Iterable[Finding]:
    if settings.DEBUG:
        yield Finding("warning", "DEBUG is on: error pages show settings and data.", "Set: DEBUG=0")
    if os.environ.get("SECRET_KEY"):
        weak = len(settings.SECRET_KEY) < 50
        yield (
            Finding("problem", "SECRET_KEY is short.", "Use 50 random characters or more.")
            if weak
            else Finding("ok", "SECRET_KEY comes from the environment.")
        )
    else:
        yield Finding("ok", f"SECRET_KEY is kept in {settings.VAR / 'secret.key'}.")


def disk() -> Iterable[Finding]:
    for folder in dict.fromkeys([settings.VAR, settings.FILES_ROOT]):
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        if not os.access(existing, os.W_OK):
            yield Finding(
                "problem", f"{folder} cannot be written.", "Change its owner, or LAPIDARY_VAR / FILES_ROOT."
            )
            continue
        free = shutil.disk_usage(existing).free / GIGABYTE
        state: State = "problem" if free < 1 else "warning" if free < 5 else "ok"
        remedy = "" if state == "ok" else "Free some space: exports and imports need it."
        yield Finding(state, f"{free:.1f} GB are free for {folder}.", remedy)


def static_files() -> Iterable[Finding]:
    if settings.PRODUCTION and not (Path(settings.STATIC_ROOT) / "staticfiles.json").exists():
        yield Finding("problem", "Styles and scripts are not collected.", "Run: manage.py collectstatic")


CHECKS: Final[tuple[Callable[[], Iterable[Finding]], ...]] = (
    *(embedded_servers, database, migrations, broker, workers, generators),
    *(public_url, secrets, disk, static_files),
)


def examine(*, quick: bool = False) -> Iterable[Finding]:
    for check in CHECKS:
        if not (quick and check is generators):
            yield from check()


def as_json(findings: Iterable[Finding]) -> str:
    return json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=1)


def first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]
