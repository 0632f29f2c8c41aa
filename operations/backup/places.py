"""What a backup copies and a restore fills: FILES_ROOT and MODELS_ROOT on one disk, or what a store has of them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from botocore.exceptions import BotoCoreError

from common.storage.shared_files import SharedFiles, shared_files, shared_models
from operations.backup.copying import (
    FILES,
    LEFT_OUT,
    MODELS,
    PART,
    copy_file,
    files_to_copy,
    hash_of,
    inside,
    roots,
    write_copy,
)
from operations.backup.errors import BackupError
from operations.backup.manifest import StoredFile

OWN = ".lapidary"  # how names of probes and marks begin


@dataclass(frozen=True, slots=True)
class Place:
    """name: of its folder in a backup."""

    name: str
    root: Path
    files: SharedFiles

    def paths(self) -> Iterator[Path]:
        """Every complete file, in a stable order."""
        if not self.files.is_remote:
            yield from files_to_copy(self.root)
            return
        for stored in self.files.stored_in(self.root):
            *folders, name = stored.path.relative_to(self.root).parts
            # As of a disk: models that are being uploaded are in a folder that begins with a dot.
            is_unfinished = name.endswith(PART) or any(folder.startswith(".") for folder in folders)
            if not is_unfinished and name not in LEFT_OUT and not name.startswith(OWN):
                yield stored.path

    def names(self) -> Iterator[tuple[Path, str]]:
        """With the path in a backup."""
        for path in self.paths():
            yield path, f"{self.name}/{path.relative_to(self.root)}"

    def copy(self, source: Path, target: Path) -> StoredFile:
        """Into a backup. Raises FileNotFoundError."""
        if not self.files.is_remote:
            return copy_file(source, target)
        with self._opened(source) as reader:
            return write_copy(reader, target, original=0o600)

    def sha256_of(self, path: Path) -> str:
        with self._opened(path) as reader:
            return hash_of(reader)

    def put(self, source: Path, target: Path, mode: int) -> None:
        """Out of a backup. In a store it is complete or not there, and this host keeps no copy."""
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.parent.stat().st_mode & 0o300 != 0o300:  # a snapshot that a cut-off restore left
            target.parent.chmod(0o700)
        copy_file(source, target, mode=mode)
        self.files.hand_over(target)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[BinaryIO]:
        try:
            with closing(self.files.open_from(path).file) as reader:
                yield reader
        except BotoCoreError as error:
            raise BackupError(
                f"The object store broke off in {path.name}: {error}. Run this again."
            ) from error


def places(*, with_models: bool) -> list[Place]:
    storages = {FILES: shared_files(), MODELS: shared_models()}
    return [
        Place(name, storages[name].root if storages[name].is_remote else root, storages[name])
        for name, root in roots(with_models=with_models).items()
    ]


def place_of(name: str) -> tuple[Place, Path]:
    """Where a file of a backup belongs. Raises BackupError."""
    kind, _slash, path = name.partition("/")
    for place in places(with_models=True):
        if place.name == kind:
            return place, inside(place.root, path)
    raise BackupError(f"The manifest names a file of an unknown kind: {name}")
