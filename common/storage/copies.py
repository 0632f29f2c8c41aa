"""What a host keeps of an object store: copies that nobody has used for some time are deleted by the host itself.

A journal lists the copies, so that nothing else is ever deleted: checkpoints, base models and what waits to be sent are
files below the same folders.
"""

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from django.conf import settings

JOURNAL: Final = ".lapidary-copied"  # a relative path a line
CHECKED: Final = ".lapidary-copies"  # its time: when this host last looked
LOOK_EVERY: Final = 24 * 3600  # seconds
PARTIAL_AFTER: Final = 24 * 3600  # of a download that was killed
PARTIAL: Final = re.compile(r"\..+\.part(\.\w+)?")  # boto3 adds an ending of its own while it writes


def mark_used(copy: Path) -> None:
    """Whatever the disk does with times of reading."""
    with suppress(OSError):
        os.utime(copy)


def mark_of(folder: Path) -> Path:
    """A file beside a copied folder: the SHA-256 that its files had when they were compared."""
    return folder.with_name(f".{folder.name}.sha256")


def is_partial(path: Path) -> bool:
    """Whether it is of a download that goes on, or that was killed."""
    return PARTIAL.fullmatch(path.name) is not None


def is_time_to_look(root: Path) -> bool:
    """Once a day for all processes of the host."""
    mark = root / CHECKED
    with suppress(FileNotFoundError):
        if time.time() - mark.stat().st_mtime < LOOK_EVERY:
            return False
    root.mkdir(parents=True, exist_ok=True)
    mark.touch()
    return True


def note_copy(root: Path, copy: Path) -> None:
    """Remember that the store has, or had, this file."""
    with _journal(root) as journal:
        journal.seek(0, os.SEEK_END)
        journal.write(f"{copy.relative_to(root)}\n")


def delete_unused_copies(root: Path) -> None:
    """Also those whose objects were removed on another host; and what killed downloads left."""
    now, unused = time.time(), settings.STORAGE_COPY_DAYS * 24 * 3600
    _delete_copies(root, lambda copy: now - _last_use(copy) > unused)
    for path in _files_of(root):
        if is_partial(path) and now - _last_use(path) > PARTIAL_AFTER:
            _delete(root, path)


def delete_copies_below(root: Path, folder: Path) -> None:
    """Whatever their age; what this host had before it asked the store stays."""
    _delete_copies(root, lambda copy: copy.is_relative_to(folder))


def _delete_copies(root: Path, is_unwanted: Callable[[Path], bool]) -> None:
    with _journal(root) as journal:
        found = [name for name in dict.fromkeys(journal.read().splitlines()) if _last_use(root / name)]
        unwanted = {name for name in found if is_unwanted(root / name)}
        for name in unwanted:
            _delete(root, root / name)
        journal.seek(0)
        journal.truncate()
        journal.writelines(f"{name}\n" for name in found if name not in unwanted)


@contextmanager
def _journal(root: Path) -> Iterator[TextIO]:
    """Opened at its beginning, for one process at a time."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / JOURNAL).open("a+", encoding="utf-8") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        journal.seek(0)
        yield journal


def _last_use(path: Path) -> float:
    """As time.time(); 0 if it does not exist."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return 0
    return max(stat.st_mtime, stat.st_atime)


def _files_of(root: Path) -> Iterator[Path]:
    """Without the models that may be inside FILES_ROOT: they are copies from elsewhere in the store."""
    models = Path(settings.MODELS_ROOT)
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if root == models or Path(folder, name) != models]
        yield from (Path(folder, name) for name in names)


def _delete(root: Path, path: Path) -> None:
    """With the folders below the root that are empty then."""
    make_writable(path.parent)
    path.unlink(missing_ok=True)
    with suppress(OSError):
        for folder in path.relative_to(root).parents[:-1]:
            (root / folder).rmdir()


def make_writable(folder: Path) -> None:
    """A snapshot's folder is read-only."""
    if not os.access(folder, os.W_OK):
        folder.chmod(0o700)
