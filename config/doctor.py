"""What `manage.py doctor` looks at. Every check is a small function that returns findings in plain words."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.db import DatabaseError, NotSupportedError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.utils import translation
from django.utils.translation import gettext as _

from config import embedded
from config.database_timeouts import PROCESS, VARIABLES
from config.database_version import OLDEST_POSTGRES
from config.findings import Finding, State
from config.mail_check import mail
from config.storage_check import storage
from config.worker_check import worker_folders, workers
from embedded.home import EmbeddedError
from generation.loaded import arguments_on_this_host
from generation.models import Generator
from generation.protocol import BackendError
from generation.selectors import servable_generators

GIGABYTE: Final = 1024**3
MODEL_SECONDS: Final = 120
HF: Final = "generation.backends.hf.HFBackend"


Check = Callable[[], Iterable[Finding]]


def embedded_servers() -> Iterable[Finding]:
    """Start them where they are in use; doctor itself starts nothing before, so that it can say what is wrong."""
    if settings.DATABASE_URL != embedded.database_url(settings.VAR):
        return
    home = embedded.locate(settings.VAR)
    try:
        embedded.use(home, settings.VAR)
    except (EmbeddedError, OSError) as error:
        yield Finding(
            "problem",
            _("The embedded PostgreSQL and Redis do not start: {error}").format(error=error),
            _("See {log}.").format(log=home.log),
        )
    else:
        yield Finding(
            "ok", _("Embedded PostgreSQL and Redis run; their data are in {folder}.").format(folder=home.root)
        )


def database() -> Iterable[Finding]:
    try:
        connection.ensure_connection()
        version = connection.cursor().execute("SHOW server_version").fetchone()[0]
    except NotSupportedError as error:  # Django connects to no older server
        yield Finding(
            "problem",
            _("PostgreSQL is too old: {error}").format(error=first_line(error)),
            _("Use {version} or newer.").format(version=OLDEST_POSTGRES),
        )
        return
    except DatabaseError as error:
        yield Finding(
            "problem",
            _("The database does not answer: {error}").format(error=first_line(error)),
            _("Start PostgreSQL, or correct DATABASE_URL."),
        )
        return
    if int(version.split(".")[0]) < OLDEST_POSTGRES:
        yield Finding(
            "problem",
            _("PostgreSQL {version} is too old.").format(version=version),
            _("Use {version} or newer.").format(version=OLDEST_POSTGRES),
        )
    else:
        yield Finding(
            "ok", _("The database answers: PostgreSQL {version}.").format(version=version.split()[0])
        )
    if settings.DATABASE_POOLER:
        yield from pooled_timeouts()


def pooled_timeouts() -> Iterable[Finding]:
    """PgBouncer takes no timeouts from us, so its configuration or the role must set them."""
    missing = []
    for name in VARIABLES:
        with connection.cursor() as cursor:
            cursor.execute(f"SHOW {name}")
            missing += [name] if cursor.fetchone()[0] == "0" else []
    if "lock_timeout" in missing or "idle_in_transaction_session_timeout" in missing:
        yield Finding(
            "warning",
            _("Behind the pooler these timeouts are off: {names}.").format(names=", ".join(missing)),
            _("Set them in PgBouncer's connect_query (docs/operators/database.md)."),
        )


def migrations() -> Iterable[Finding]:
    executor = MigrationExecutor(connection)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if pending:
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _backwards in pending[:3])
        yield Finding(
            "problem",
            _("Migrations are pending ({count}): {names}").format(count=len(pending), names=names),
            _("Run: manage.py migrate"),
        )
    unknown = _migrations_of_newer_code(executor.loader)
    if unknown:
        yield Finding(
            "problem",
            _("The database is newer than this code, which lacks its migrations ({count}): {names}").format(
                count=len(unknown), names=", ".join(unknown[:3])
            ),
            _("Run the newer code, or go back by restoring a backup (docs/operators/upgrade.md)."),
        )
    if not pending and not unknown:
        yield Finding("ok", _("Every migration is applied."))


def _migrations_of_newer_code(loader: MigrationLoader) -> list[str]:
    """Applied migrations of installed apps that are not on disk. Those that a squashed one replaces count as known."""
    replaced = {key for migration in loader.disk_migrations.values() for key in migration.replaces}
    known = loader.disk_migrations.keys() | replaced
    return [
        f"{app}.{name}"
        for app, name in sorted(loader.applied_migrations)
        if app in loader.migrated_apps and (app, name) not in known
    ]


def broker() -> Iterable[Finding]:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=3, socket_timeout=3) as client:
            server, policy = client.info("server"), client.info("memory").get("maxmemory_policy")
            persistent = client.info("persistence").get("aof_enabled")
    except redis.RedisError as error:
        yield Finding(
            "problem",
            _("The broker (Redis) does not answer: {error}").format(error=first_line(error)),
            _("Start Redis, or correct REDIS_URL."),
        )
        return
    yield Finding("ok", _("The broker answers: Redis {version}.").format(version=server["redis_version"]))
    if policy != "noeviction":
        yield Finding(
            "warning",
            _("Redis may drop waiting tasks ({policy}).").format(policy=policy),
            _("Set: {setting}").format(setting="maxmemory-policy noeviction"),
        )
    if not persistent:
        yield Finding(
            "warning",
            _("Redis forgets waiting tasks when it restarts."),
            _("Set: {setting}").format(setting="appendonly yes"),
        )


def generators() -> Iterable[Finding]:
    """Load every configured model in a process of its own: this one must never import torch."""
    if find_spec("torch") is None:
        yield Finding(
            "warning",
            _("Models cannot be checked here: torch is not installed."),
            _("Run doctor on a worker."),
        )
        return
    default = _("The default model (GENERATION_MODEL)")
    yield check_model(default, HF, {"model": settings.GENERATION_MODEL})
    try:
        rows = list(servable_generators())
    except DatabaseError:
        rows = []
        yield Finding(
            "warning", _("Only the default model is checked: the others are listed in the database.")
        )
    for row in rows:
        yield from check_generator(row)


def check_generator(generator: Generator) -> Iterable[Finding]:
    """With an object store this fetches a trained model to this host."""
    name = _("The model {name}").format(name=generator.slug)
    try:
        backend, options = arguments_on_this_host(generator)
    except BackendError as error:
        cause = _("{model} cannot be used: {cause}").format(model=name, cause=error.cause)
        yield Finding("problem", cause, error.remedy)
        return
    addresses = options.get("base_url")
    if not isinstance(addresses, list):
        yield check_model(name, backend, options)
        return
    for address in addresses:  # a worker is content with one that answers
        name = _("The model {name} at {address}").format(name=generator.slug, address=address)
        yield check_model(name, backend, {**options, "base_url": address})


def check_model(name: str, backend: str, options: Mapping[str, object]) -> Finding:
    command = [sys.executable, "-m", "config.model_check", backend, json.dumps(options)]
    try:
        run = subprocess.run(
            command, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=MODEL_SECONDS
        )
        answer = json.loads(run.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return Finding(
            "problem",
            _("{model} did not load in {seconds} s.").format(model=name, seconds=MODEL_SECONDS),
            _("Choose a smaller model."),
        )
    except (IndexError, ValueError):
        return Finding(
            "problem",
            _("{model} does not load: {error}").format(model=name, error=last_line(run.stderr)),
            _("See the log of a worker."),
        )
    if cause := answer.get("cause"):
        return Finding(
            "problem", _("{model} cannot be used: {cause}").format(model=name, cause=cause), answer["remedy"]
        )
    return Finding("ok", _("{model} can be used: {version}.").format(model=name, version=answer["version"]))


def public_url() -> Iterable[Finding]:
    url = urlsplit(settings.PUBLIC_URL)
    origin = f"{url.scheme}://{url.netloc}"
    if url.scheme not in {"http", "https"} or not url.hostname:
        yield Finding(
            "problem",
            _("PUBLIC_URL is not a web address: {url}").format(url=settings.PUBLIC_URL),
            _("Set: {setting}").format(setting="PUBLIC_URL=https://…"),
        )
        return
    yield Finding("ok", _("The public address is {url}.").format(url=settings.PUBLIC_URL))
    if url.hostname not in settings.ALLOWED_HOSTS and "*" not in settings.ALLOWED_HOSTS:
        yield Finding(
            "problem",
            _("Requests to {host} are refused.").format(host=url.hostname),
            _("Add it to {setting}.").format(setting="ALLOWED_HOSTS"),
        )
    if origin not in settings.CSRF_TRUSTED_ORIGINS:
        yield Finding(
            "problem",
            _("Forms sent from {origin} are refused.").format(origin=origin),
            _("Add it to {setting}.").format(setting="CSRF_TRUSTED_ORIGINS"),
        )
    if url.path.strip("/"):
        yield Finding("problem", _("PUBLIC_URL has a path."), _("Give Lapidary a host name of its own."))
    if url.scheme == "http" and url.hostname not in {"localhost", "127.0.0.1"}:
        yield Finding(
            "warning",
            _("Passwords cross the network unencrypted."),
            _("Put TLS in front and set PUBLIC_URL=https://…"),
        )


def secrets() -> Iterable[Finding]:
    if settings.DEBUG:
        yield Finding(
            "warning",
            _("DEBUG is on: error pages show settings and data."),
            _("Set: {setting}").format(setting="DEBUG=0"),
        )
    if os.environ.get("SECRET_KEY"):
        weak = len(settings.SECRET_KEY) < 50 or len(set(settings.SECRET_KEY)) < 10
        yield (
            Finding("problem", _("SECRET_KEY is easy to guess."), _("Use 50 random characters or more."))
            if weak
            else Finding("ok", _("SECRET_KEY comes from the environment."))
        )
    else:
        yield Finding("ok", _("SECRET_KEY is kept in {file}.").format(file=settings.VAR / "secret.key"))


def disk() -> Iterable[Finding]:
    roots = [settings.VAR, settings.FILES_ROOT]
    if not settings.MODELS_ROOT.is_relative_to(settings.FILES_ROOT):
        roots.append(settings.MODELS_ROOT)
    for folder in dict.fromkeys(roots):
        try:
            free = free_bytes(folder) / GIGABYTE
        except OSError as error:
            yield Finding(
                "problem",
                _("{folder} cannot be written: {reason}").format(folder=folder, reason=error.strerror),
                _("Change its owner, or set LAPIDARY_VAR, FILES_ROOT or MODELS_ROOT."),
            )
            continue
        size = f"{free:.1f} GB" if free >= 1 else f"{free * 1024:.0f} MB"
        state: State = "problem" if free < 1 else "warning" if free < 5 else "ok"
        remedy = "" if state == "ok" else _("Free some space: exports, imports and trained models need it.")
        yield Finding(state, _("{size} free for {folder}.").format(size=size, folder=folder), remedy)


def free_bytes(folder: Path) -> int:
    """Free bytes for a folder, which may not exist yet. Raises OSError if a file cannot be written there.

    It is tried: permissions say nothing about a disk that is mounted read-only, or to root.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    with tempfile.TemporaryFile(dir=existing):
        return shutil.disk_usage(existing).free


def static_files() -> Iterable[Finding]:
    if os.environ.get(PROCESS) == "worker":  # the image of the workers
        return
    if settings.PRODUCTION and not (Path(settings.STATIC_ROOT) / "staticfiles.json").exists():
        yield Finding(
            "problem", _("Styles and scripts are not collected."), _("Run: manage.py collectstatic")
        )


CHECKS: Final[tuple[Check, ...]] = (
    *(embedded_servers, database, migrations, broker, storage, workers, worker_folders, generators),
    *(public_url, secrets, disk, static_files),
)


# They read tables, which a database that is away or lacks migrations does not have.
NEED_TABLES: Final[frozenset[Check]] = frozenset({migrations, workers, worker_folders})


def examine(*, quick: bool = False, mail_to: str = "") -> Iterable[Finding]:
    """Every check; what cannot be known because of an earlier problem is one line.

    quick: load no models. mail_to: send a message there.
    """
    skipped = frozenset[Check]({generators} if quick else ())
    for check in CHECKS:
        if check in skipped:
            continue
        findings = list(check())
        yield from findings
        if check in (database, migrations) and any(finding.state == "problem" for finding in findings):
            skipped |= NEED_TABLES
            yield Finding(
                "warning", _("Workers are unknown until then."), _("Run doctor again when this is solved.")
            )
    yield from mail(mail_to=mail_to)


def terminal_language() -> str:
    """The language of the terminal where it is one of ours, else English: nobody is signed in here."""
    locale = next(
        (os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), ""
    )
    try:
        return translation.get_supported_language_variant(translation.to_language(locale.partition(".")[0]))
    except LookupError:
        return "en"


def as_json(findings: Iterable[Finding]) -> str:
    return json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=1)


def first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]
