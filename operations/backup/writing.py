"""Writing a backup while people work.

The order decides whether it is consistent: the database first, then the files. Uploads, exports, snapshots and models
are complete on disk before a row names them, and never change afterwards, so every file that the dump names is still
there when it is copied. Files first would miss those that were written between the copy and the dump. Only a file that
somebody deletes meanwhile is missing; the manifest lists it, and the pages of a restored installation say that it was
removed, as they do here.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from django.db import connection
from django.utils import timezone

from common.release import code_version
from operations.backup.copying import FILES, MODELS, check_files, hash_file, roots
from operations.backup.database import (
    applied_migrations,
    count_rows,
    dump_database,
    frozen_database,
    named_files,
)
from operations.backup.errors import BackupError
from operations.backup.manifest import (
    DUMP,
    MANIFEST,
    Manifest,
    StoredFile,
    read_manifest,
    secret_key_fingerprint,
    write_manifest,
)
from operations.backup.places import places
from operations.backup.private_files import sync_folder
from operations.backup.programs import Programs, find_programs, server_major
from operations.lines import FileCounter, human_size

UNFINISHED = "backup.unfinished"
Write = Callable[[str], object]


def write_backup(folder: Path, *, with_models: bool, write: Write) -> Manifest:
    """Write a backup into an empty folder, or one with a cut-off backup, which begins again. Raises BackupError."""
    postgres = server_major()
    programs = find_programs(postgres)
    with _claimed(folder):
        with frozen_database() as snapshot:
            write("Dumping the database")
            dump_database(programs, snapshot, folder / DUMP)
            manifest = _describe_database(postgres, programs, with_models)
            named = set(named_files(with_models=with_models))
        files = {DUMP: _describe_dump(folder / DUMP, write)}
        files |= _copy_files(folder, with_models=with_models, write=write)
        manifest = replace(manifest, files=files, missing=sorted(named - files.keys()))
        write_manifest(folder, manifest)
    return manifest


def verify_backup(folder: Path, write: Write) -> Manifest:
    """Read every file of a finished backup back. Raises BackupError."""
    manifest = read_manifest(folder)
    counter = FileCounter(write, "Verified")
    check_files(folder, manifest.files, counter)
    write(counter.text())
    return manifest


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Mark the folder as unfinished for as long as the backup is written. Raises BackupError if it is in use."""
    _check_place(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if (folder / MANIFEST).exists():
        raise BackupError(f"{folder} already holds a finished backup. Name another folder.")
    mark = folder / UNFINISHED
    if not mark.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder} is not empty. Name a new folder.")
    folder.chmod(0o700)
    descriptor = os.open(mark, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"Another backup is being written to {folder}.") from None
        _remove_cut_off(folder)
        yield
        mark.unlink()
    finally:
        os.close(descriptor)


def _check_place(folder: Path) -> None:
    for root in roots(with_models=True).values():
        if folder.resolve().is_relative_to(root.resolve()):
            raise BackupError(f"{folder} is inside {root}, which is backed up itself. Name a folder outside.")


def _remove_cut_off(folder: Path) -> None:
    (folder / DUMP).unlink(missing_ok=True)
    for name in (FILES, MODELS):
        shutil.rmtree(folder / name, ignore_errors=True)


def _describe_database(postgres: int, programs: Programs, with_models: bool) -> Manifest:
    """The manifest without its files, read in the transaction of the dump."""
    return Manifest(
        created_at=timezone.now().isoformat(timespec="seconds"),
        code_version=code_version(),
        postgres=postgres,
        pg_dump=programs.major,
        migrations=applied_migrations(),
        rows=count_rows(),
        files={},
        has_models=with_models,
        missing=[],
        secret_key=secret_key_fingerprint(),
    )


def _describe_dump(dump: Path, write: Write) -> StoredFile:
    size = dump.stat().st_size
    write(f"Dumped {connection.settings_dict['NAME']} ({human_size(size)})")
    return StoredFile(size, hash_file(dump), 0o600)


def _copy_files(folder: Path, *, with_models: bool, write: Write) -> dict[str, StoredFile]:
    """The copied files by their path in the backup."""
    copied: dict[str, StoredFile] = {}
    counter = FileCounter(write, "Copied")
    for place in places(with_models=with_models):
        for source, path in place.names():
            target = folder / path
            _make_folders(folder, target.parent)
            try:
                copied[path] = place.copy(source, target)
            except FileNotFoundError:  # deleted meanwhile
                continue
            counter.add(copied[path].bytes)
    for each in {(folder / path).parent for path in copied}:
        sync_folder(each)
    write(counter.text())
    return copied


def _make_folders(root: Path, folder: Path) -> None:
    """Create the folders below `root` for their owner only, whatever the umask."""
    if folder != root and not folder.is_dir():
        _make_folders(root, folder.parent)
        folder.mkdir(mode=0o700)
