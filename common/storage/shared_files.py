"""What a storage of shared files can do, and the two of this installation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from django.core.files.storage import storages

Beat = Callable[[int], None]  # called with the bytes that were sent or received; a large file takes minutes


def no_beat(count: int) -> None:
    return


@dataclass(frozen=True, slots=True)
class Opened:
    """A file opened for reading from some byte on. size: of the whole file, in bytes. tag: differs between versions."""

    file: BinaryIO
    size: int
    tag: str


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that every host can read. changed_at: seconds since 1970."""

    path: Path
    bytes: int
    changed_at: float


class SharedFiles(Protocol):
    """Files below a folder. Paths are absolute, below `root`. is_remote: an object store has them, a host only copies.

    With an object store every method raises Refusal storage_away, storage_refused or storage_full.
    """

    is_remote: bool

    @property
    def root(self) -> Path: ...

    def publish(self, path: Path, beat: Beat = no_beat, *, leaves_copy: bool = False) -> None:
        """Let every host read this file, or all files of this folder. They stay here. Safe to repeat.

        leaves_copy: from now on the store has the original, and this host deletes its files when nobody uses them.
        """

    def hand_over(self, path: Path, beat: Beat = no_beat) -> None:
        """Publish what this host itself will not read, and keep no copy here, also if the store refuses it.

        Does nothing on one disk.
        """

    def fetch(self, path: Path, beat: Beat = no_beat) -> bool:
        """Bring a file, or all files of a folder, to this host unless they are here already; True if some were not.

        Does nothing if there is no such file or folder. Each file appears whole or not at all. Raises OSError of this
        host's disk.
        """

    def exists_anywhere(self, path: Path) -> bool:
        """Whether there is such a file on this host or in the store."""

    def open_from(self, path: Path, begin: int = 0) -> Opened:
        """The file from this byte on, wherever it is. Raises FileNotFoundError, EOFError if nothing is left there."""

    def read(self, path: Path) -> bytes:
        """A small file, wherever it is. Raises FileNotFoundError."""

    def write(self, path: Path, content: bytes) -> None:
        """Let every host read this small file, which appears whole. A store keeps no copy on this host."""

    def signed_url(self, path: Path, *, content_type: str, name: str = "") -> str:
        """An address that gives the file without signing in for some minutes; "" if this storage has none.

        name: under which a browser saves it, if not its own.
        """

    def remove(self, path: Path, *, or_refuse: bool = False) -> None:
        """Remove the file or folder here and from the store, also if it is read-only. Safe to repeat.

        If the store is away, its objects stay and the log says so; or_refuse: Refusal is raised instead.
        """

    def names_in(self, folder: Path) -> set[str]:
        """Names of files and folders directly in the folder, on this host or in the store."""

    def stored_in(self, folder: Path) -> Iterator[StoredFile]:
        """All files below the folder that every host can read, by path."""


def shared_files() -> SharedFiles:
    """Imports, exports, snapshots: below FILES_ROOT."""
    return cast("SharedFiles", storages["files"])


def shared_models() -> SharedFiles:
    """Trained models: below MODELS_ROOT."""
    return cast("SharedFiles", storages["models"])
