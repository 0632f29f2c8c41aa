"""Files that only their owner may read: a backup holds everything."""

import os
from pathlib import Path
from typing import BinaryIO


def create_private_file(path: Path) -> BinaryIO:
    """Open a new file for writing with mode 0600; one that a cut-off attempt left is removed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def sync_file(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names of new files durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
