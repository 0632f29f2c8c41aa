"""Copying files with their SHA-256, and reading them back."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from jobs.folders import MARKER
from operations.backup.errors import BackupError
from operations.backup.manifest import StoredFile
from operations.backup.private_files import create_private_file, sync_file
from operations.lines import FileCounter
from preference.child_process import PID_FILE
from preference.runs.job import LOCK

BLOCK = 1 << 20  # bytes
FILES, MODELS = "files", "models"
PART = ".part"
# The process of a training means nothing on another machine, or after a restart of this one. A copied marker would make
# two folders look like one.
LEFT_OUT = frozenset({PID_FILE, LOCK, MARKER})


def roots(*, with_models: bool) -> dict[str, Path]:
    """The folders that a backup copies, by their name in it."""
    files = {FILES: Path(settings.FILES_ROOT).absolute()}
    return files | ({MODELS: Path(settings.MODELS_ROOT).absolute()} if with_models else {})


def files_to_copy(root: Path) -> Iterator[Path]:
    """Every complete file below a root, in a stable order; FILES_ROOT without the models that may be inside it."""
    models = Path(settings.MODELS_ROOT).absolute()
    for path, folders, names in os.walk(root):
        folder = Path(path)
        # A snapshot is written to a folder that begins with a dot and renamed when it is complete.
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and (root == models or folder / name != models)
        )
        for name in sorted(names):
            if name not in LEFT_OUT and not name.endswith(PART) and (folder / name).is_file():
                yield folder / name


def copy_file(source: Path, target: Path, *, mode: int | None = None) -> StoredFile:
    """Copy a file under a temporary name and rename it when all of it is on disk. mode: of the copy, default 0600.

    What is hashed is what is written: a log that grows meanwhile gives a shorter, sound copy.
    """
    with source.open("rb") as reader:
        original = os.fstat(reader.fileno()).st_mode & 0o777
        return write_copy(reader, target, original=original, mode=mode)


def write_copy(reader: BinaryIO, target: Path, *, original: int, mode: int | None = None) -> StoredFile:
    """original: the mode to remember, which a restore gives the file back. See copy_file."""
    partial = target.with_name(f"{target.name}{PART}")
    digest, size = hashlib.sha256(), 0
    with create_private_file(partial) as writer:
        while block := reader.read(BLOCK):
            digest.update(block)
            size += writer.write(block)
        sync_file(writer)
    partial.chmod(0o600 if mode is None else mode)
    partial.replace(target)
    return StoredFile(size, digest.hexdigest(), original)


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hash_of(file)


def hash_of(reader: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := reader.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()


def check_files(folder: Path, files: Mapping[str, StoredFile], counter: FileCounter) -> None:
    """Read every file of a backup. Raises BackupError that names those which are missing or differ."""
    damaged = []
    for name, stored in files.items():
        path = inside(folder, name)
        if not path.is_file() or path.stat().st_size != stored.bytes or hash_file(path) != stored.sha256:
            damaged.append(name)
        counter.add(stored.bytes)
    if damaged:
        others = f" and {len(damaged) - 3} more" if len(damaged) > 3 else ""
        raise BackupError(
            f"{len(damaged)} files of the backup are missing or damaged: {', '.join(damaged[:3])}{others}. "
            "Use another backup."
        )


def inside(folder: Path, name: str) -> Path:
    """The path of a name in a manifest. Raises BackupError if it leads out of the folder."""
    path = (folder / name).absolute()
    if ".." in Path(name).parts or not path.is_relative_to(folder.absolute()):
        raise BackupError(f"The manifest names a file outside the backup: {name}")
    return path
