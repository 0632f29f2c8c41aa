"""The migrated database that the test database of every worker is copied from.

Migrations take most of a minute of processor time, a copy takes a second. The template is made again when a migration
or a package changes; older ones are dropped.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

from tests.processes import ROOT, database_url

PREFIX: Final = "template_lapidary_"


def ensure_template() -> str:
    """The name of a database with all tables and without rows, made if missing. One process makes it, others wait."""
    name = PREFIX + migrations_hash()
    with locked(Path(settings.VAR) / "test-template.lock"), connection._nodb_cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database")
        known = {row[0] for row in cursor.fetchall()}
        if name not in known:
            for old in (old for old in known if old.startswith(PREFIX)):
                cursor.execute(f'DROP DATABASE "{old}" WITH (FORCE)')
            make_template(cursor, name)
    return name


def migrations_hash() -> str:
    """Of every migration, and of what says which apps and packages have tables."""
    digest = sha256()
    settings_files = [ROOT / "constraints.txt", ROOT / "config" / "settings.py"]
    for path in [*sorted(ROOT.glob("*/migrations/*.py")), *settings_files]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def make_template(cursor: CursorWrapper, name: str) -> None:
    """Migrate under another name first, so that a template whose making was killed is never used."""
    unfinished = f"{name}_unfinished"
    cursor.execute(f'CREATE DATABASE "{unfinished}"')
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": f"{database_url().rpartition('/')[0]}/{unfinished}"},
        check=True,
    )
    cursor.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')


@contextmanager
def locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
