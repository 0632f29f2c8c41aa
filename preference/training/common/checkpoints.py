"""Checkpoint folders: each is complete or does not exist.

A folder is written under a partial name, flushed to disk, and renamed. A kill or a power cut leaves either the
complete folder or a partial one that the next start removes.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

PARTIAL = ".partial-"
NAME = re.compile(r"checkpoint-(\d+)")


def checkpoint_folder(parent: Path, step: int) -> Path:
    """Where the checkpoint after `step` optimiser steps belongs."""
    return parent / f"checkpoint-{step}"


def step_of(checkpoint: Path) -> int:
    """The optimiser steps in a checkpoint's name; -1 if it is not a checkpoint's name."""
    match = NAME.fullmatch(checkpoint.name)
    return int(match[1]) if match else -1


def checkpoints(parent: Path) -> list[Path]:
    """The complete checkpoints in `parent`, oldest first. By number: as text, checkpoint-100 precedes checkpoint-20."""
    return sorted((path for path in parent.glob("checkpoint-*") if step_of(path) >= 0), key=step_of)


def newest(parent: Path) -> Path | None:
    """The checkpoint to continue from, or None before the first."""
    return max(checkpoints(parent), key=step_of, default=None)


def partial_folder(final: Path) -> Path:
    """Where `final` is written before it gets its name; on the same file system, so that a rename is atomic."""
    return final.with_name(PARTIAL + final.name)


def publish(final: Path) -> None:
    """Flush the partial folder of `final` to disk and give it its name, replacing an older one. Raises OSError.

    Without the flush a power cut can leave the new name pointing to files whose content never reached the disk. The
    parent is flushed last, because the rename itself is an entry of the parent.
    """
    partial = partial_folder(final)
    for path in [*partial.rglob("*"), partial]:
        _flush_to_disk(path)
    if final.exists():
        shutil.rmtree(final)
    partial.rename(final)
    _flush_to_disk(final.parent)


def keep_newest(parent: Path, count: int, *, spare: int | None = None) -> None:
    """Remove all but the newest `count` checkpoints and that of step `spare`."""
    for old in checkpoints(parent)[:-count]:
        if step_of(old) == spare:
            continue
        # Renamed first: a kill during removal must not leave half a checkpoint under a checkpoint's name.
        doomed = partial_folder(old)
        old.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def remove_partial(parent: Path) -> None:
    """Remove what a killed run left."""
    for path in parent.glob(f"{PARTIAL}*"):
        shutil.rmtree(path, ignore_errors=True)


def _flush_to_disk(path: Path) -> None:
    """fsync of a file or a folder, which can be opened for reading only."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
