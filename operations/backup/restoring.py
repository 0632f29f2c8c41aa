"""Restoring a backup into an empty database and empty folders.

The files first, the database last and in one transaction: a cut-off restore leaves an empty database, and running it
again keeps the files that are complete. Once the database has tables, all files are there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from operations.backup.copying import (
    FILES,
    MODELS,
    check_files,
    copy_file,
    files_to_copy,
    hash_file,
    inside,
    roots,
)
from operations.backup.database import count_rows, has_tables, named_files, restore_database
from operations.backup.errors import BackupError
from operations.backup.manifest import DUMP, Manifest, StoredFile, read_manifest, secret_key_fingerprint
from operations.backup.programs import find_programs, server_major
from operations.lines import FileCounter

SNAPSHOTS = f"{FILES}/snapshots/"
Write = Callable[[str], object]


def restore_backup(folder: Path, write: Write) -> Manifest:
    """Check the backup and the place, then restore both parts. Raises BackupError; safe to repeat after that."""
    manifest = read_manifest(folder)
    _check_code(manifest)
    server = server_major()
    programs = find_programs(max(manifest.pg_dump, manifest.postgres))
    if server < manifest.postgres:
        raise BackupError(
            f"The backup comes from PostgreSQL {manifest.postgres}, and this server is {server}. "
            f"Use PostgreSQL {manifest.postgres} or newer."
        )
    _check_empty_database()
    _check_folders(manifest)
    counter = FileCounter(write, "Verified")
    check_files(folder, manifest.files, counter)
    write(counter.text())
    _restore_files(folder, manifest, write)
    write("Restoring the database")
    restore_database(programs, folder / DUMP, server)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # a dump has no statistics for the planner
    return manifest


def compare_restored(manifest: Manifest) -> Iterator[str]:
    """What differs from the manifest, before any migration is run."""
    rows = count_rows()
    for table, expected in manifest.rows.items():
        if rows.get(table) != expected:
            yield f"{table} has {rows.get(table)} rows, and the backup {expected}."
    known = set(manifest.missing)
    for name in named_files(with_models=manifest.has_models):
        if name not in known and not _target(name).is_file():
            yield f"{name} is missing."


def secret_key_differs(manifest: Manifest) -> bool:
    return manifest.secret_key != secret_key_fingerprint()


def _check_code(manifest: Manifest) -> None:
    """Raises BackupError if the backup has migrations that this code does not know."""
    loader = MigrationLoader(None)
    known = {*loader.disk_migrations}
    for migration in loader.disk_migrations.values():
        known.update(migration.replaces)
    unknown = [
        f"{app}.{name}"
        for app, names in manifest.migrations.items()
        for name in names
        if (app, name) not in known
    ]
    if unknown:
        raise BackupError(
            f"The backup is newer than this code, which lacks {len(unknown)} of its migrations "
            f"({', '.join(unknown[:3])}). Use the code that wrote it, {manifest.code_version}, or a newer one."
        )


def _check_empty_database() -> None:
    if has_tables():
        raise BackupError(
            f"The database {connection.settings_dict['NAME']} is not empty, and nothing is ever overwritten. Create "
            "an empty one (createdb), name it in DATABASE_URL, and run this again. Do not run migrate before."
        )


def _check_folders(manifest: Manifest) -> None:
    """Raises BackupError if the folders hold anything else than what a cut-off restore of this backup left."""
    for name, root in roots(with_models=manifest.has_models).items():
        for path in files_to_copy(root):
            if f"{name}/{path.relative_to(root)}" not in manifest.files:
                raise BackupError(
                    f"{root} is not empty: {path} is not from this backup. Name empty folders in FILES_ROOT and "
                    "MODELS_ROOT (or LAPIDARY_VAR), and run this again."
                )


def _restore_files(folder: Path, manifest: Manifest, write: Write) -> None:
    counter = FileCounter(write, "Restored")
    for name, stored in manifest.files.items():
        if name != DUMP:
            _restore_file(folder / name, _target(name), stored)
            counter.add(stored.bytes)
    for each in {_target(name).parent for name in manifest.files if name.startswith(SNAPSHOTS)}:
        each.chmod(0o500)  # as snapshots are written
    write(counter.text())


def _restore_file(source: Path, target: Path, stored: StoredFile) -> None:
    """Copy one file, unless an earlier restore did. Raises BackupError if another file is in its place."""
    if target.exists():
        if hash_file(target) != stored.sha256:
            raise BackupError(
                f"{target} exists and differs from the backup. Nothing is overwritten; move it away."
            )
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.parent.stat().st_mode & 0o300 != 0o300:  # a snapshot that a cut-off restore left
        target.parent.chmod(0o700)
    copy_file(source, target, mode=stored.mode)


def _target(name: str) -> Path:
    """Where a file of the backup belongs."""
    kind, _slash, path = name.partition("/")
    if kind not in (FILES, MODELS):
        raise BackupError(f"The manifest names a file of an unknown kind: {name}")
    return inside(roots(with_models=True)[kind], path)
