"""The database part of a backup: one snapshot that the dump, the counts and the list of files share."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, cast

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from dialogues.services.imports import KIND as IMPORT
from jobs.models import LIVE_STATES, Job
from operations.backup.copying import FILES, MODELS
from operations.backup.errors import BackupError
from operations.backup.private_files import create_private_file, sync_file
from operations.backup.programs import Programs, client_environment
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import FILES as SNAPSHOT_FILES
from preference.registry.models import RegisteredModel

# PostgreSQL has this setting since version 17, and pg_restore writes it for every server.
UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;\n"
HEAD_LINES = 30  # of a script; it is among the first settings


@contextmanager
def frozen_database() -> Iterator[str]:
    """A read-only transaction that sees one moment; yields the name under which pg_dump sees the same moment."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        # It is idle for as long as pg_dump works.
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot()")
        yield str(cursor.fetchone()[0])


def dump_database(programs: Programs, snapshot: str, target: Path) -> None:
    """Raises BackupError with the last line of pg_dump."""
    options = ("--format=custom", "--no-owner", "--no-privileges", "--no-password", f"--snapshot={snapshot}")
    with create_private_file(target) as out:
        run = subprocess.run(
            programs.command("pg_dump", *options),
            env=client_environment(),
            stdout=out,
            stderr=subprocess.PIPE,
        )
        sync_file(out)
    if run.returncode:
        raise BackupError(f"pg_dump failed: {_last_line(run.stderr)}")


def restore_database(programs: Programs, dump: Path, server: int) -> None:
    """Restore in one transaction: all of it or nothing. server: its major version. Raises BackupError.

    psql executes what pg_restore writes, because pg_restore itself stops at a setting that servers before 17 lack.
    """
    script = programs.command("pg_restore", "--no-owner", "--no-privileges", "--file=-", str(dump))
    options = ("--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
    with (
        TemporaryFile() as errors,
        subprocess.Popen(script, stdout=subprocess.PIPE, stderr=errors) as reader,
        subprocess.Popen(
            programs.command("psql", *options), env=client_environment(), stdin=subprocess.PIPE, stderr=errors
        ) as psql,
    ):
        complete = _execute(reader, psql, server)
        if psql.wait() or not complete:
            errors.seek(0)
            raise BackupError(
                f"The database was not restored and is still empty: {_last_line(errors.read())}"
            )


def _execute(reader: "subprocess.Popen[bytes]", psql: "subprocess.Popen[bytes]", server: int) -> bool:
    """Send the script to psql in one transaction. False, and nothing is committed, if pg_restore failed."""
    source, target = cast("IO[bytes]", reader.stdout), cast("IO[bytes]", psql.stdin)
    try:
        with target:
            target.write(b"BEGIN;\n")
            for line in islice(source, HEAD_LINES):
                if line != UNKNOWN_BEFORE_17 or server >= 17:
                    target.write(line)
            shutil.copyfileobj(source, target)
            complete = reader.wait() == 0
            if complete:
                target.write(b"COMMIT;\n")
    except BrokenPipeError:  # psql stopped at an error, which it names
        reader.kill()
        return False
    return complete


def applied_migrations() -> dict[str, list[str]]:
    """Names by app."""
    applied: dict[str, list[str]] = {}
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        applied.setdefault(app, []).append(name)
    return applied


def count_rows() -> dict[str, int]:
    """Rows by table."""
    with connection.cursor() as cursor:
        tables = sorted(connection.introspection.table_names(cursor))
        rows = {}
        for table in tables:
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
            rows[table] = int(cursor.fetchone()[0])
    return rows


def named_files(*, with_models: bool) -> Iterator[str]:
    """The files that rows refer to, as paths in a backup."""
    imports = Job.objects.filter(kind=IMPORT, state__in=LIVE_STATES)
    for job in imports.values_list("pk", flat=True):
        yield f"{FILES}/imports/{job}"
    for path in Export.objects.exclude(path="").values_list("path", flat=True):
        yield f"{FILES}/exports/{path}"
    for path in Snapshot.objects.exclude(path="").values_list("path", flat=True):
        yield from (f"{FILES}/snapshots/{path}/{name}" for name in SNAPSHOT_FILES)
    if with_models:
        models = RegisteredModel.objects.exclude(folder="")
        for folder, names in models.values_list("folder", "files"):
            yield from (f"{MODELS}/{folder}/{name}" for name in names)


def has_tables() -> bool:
    with connection.cursor() as cursor:
        return bool(connection.introspection.table_names(cursor))


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"
