"""Restoring a backup into an empty database and empty folders.

The files first, the database last and in one transaction: a cut-off restore leaves an empty database, and running it
again keeps the files that are complete. Once the database has tables, all files are there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from operations.backup.copying import FILES, check_files
from operations.backup.database import count_rows, has_tables, named_files, restore_database
from operations.backup.errors import BackupError
from operations.backup.manifest import DUMP, Manifest, StoredFile, read_manifest, secret_key_fingerprint
from operations.backup.places import place_of, places
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
    known = {*manifest.missing, *_present(manifest)}
    for name in named_files(with_models=manifest.has_models):
        if name not in known:
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
    """Raises BackupError if they hold anything else than what a cut-off restore of this backup left."""
    for place in places(with_models=manifest.has_models):
        for path, name in place.names():
            if name not in manifest.files:
                where, remedy = (
                    str(place.root),
                    "empty folders in FILES_ROOT and MODELS_ROOT (or LAPIDARY_VAR)",
                )
                if place.files.is_remote:
                    where, remedy = "The object store", "another bucket or prefix in STORAGE_URL"
                raise BackupError(
                    f"{where} is not empty: {path} is not from this backup. Name {remedy}, and run this again."
                )


def _restore_files(folder: Path, manifest: Manifest, write: Write) -> None:
    counter = FileCounter(write, "Restored")
    present = _present(manifest)
    for name, stored in manifest.files.items():
        if name != DUMP:
            _restore_file(folder / name, name, stored, is_present=name in present)
            counter.add(stored.bytes)
    for name in manifest.files:
        if name.startswith(SNAPSHOTS) and (parent := place_of(name)[1].parent).is_dir():
            parent.chmod(0o500)  # as snapshots are written
    write(counter.text())


def _present(manifest: Manifest) -> set[str]:
    """The names of files that are there."""
    return {name for place in places(with_models=manifest.has_models) for _path, name in place.names()}


def _restore_file(source: Path, name: str, stored: StoredFile, *, is_present: bool) -> None:
    """Put one file in its place, unless an earlier restore did. Raises BackupError if another file is there."""
    place, target = place_of(name)
    if not is_present:
        place.put(source, target, stored.mode)
    elif place.sha256_of(target) != stored.sha256:
        raise BackupError(
            f"{target} exists and differs from the backup. Nothing is overwritten; move it away."
        )
