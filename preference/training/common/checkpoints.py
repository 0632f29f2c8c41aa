"""Folders that are there whole or not at all: checkpoints, and the finished model."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path

from safetensors import SafetensorError

PARTIAL = ".partial-"
NAME = re.compile(r"checkpoint-(\d+)")
# What torch, safetensors and the system raise when a file cannot be written.
WRITE_ERRORS = (OSError, SafetensorError, RuntimeError)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def checkpoint_folder(parent: Path, step: int) -> Path:
    return parent / f"checkpoint-{step}"


def step_of(checkpoint: Path) -> int:
    found = NAME.fullmatch(checkpoint.name)
    return int(found[1]) if found else -1


def checkpoints(parent: Path) -> list[Path]:
    """The whole checkpoints in `parent`, oldest first."""
    return sorted((path for path in parent.glob("checkpoint-*") if step_of(path) >= 0), key=step_of)


def newest(parent: Path) -> Path | None:
    return max(checkpoints(parent), key=step_of, default=None)


def partial_of(final: Path) -> Path:
    """Where `final` is written before it takes its name; on the same file system, so that a rename suffices."""
    return final.with_name(PARTIAL + final.name)


def publish(final: Path) -> None:
    """Give the partial folder its name. A kill or a power cut at any moment leaves it whole or without the name."""
    partial = partial_of(final)
    for path in [*partial.rglob("*"), partial]:
        _to_disk(path)
    if final.exists():
        shutil.rmtree(final)
    partial.rename(final)
    _to_disk(final.parent)


def keep_newest(parent: Path, count: int) -> None:
    for old in checkpoints(parent)[:-count]:
        # A kill while it is removed must not leave half a checkpoint under a checkpoint's name.
        doomed = partial_of(old)
        old.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def remove_partial(parent: Path) -> None:
    """Remove what a killed run left."""
    for path in parent.glob(f"{PARTIAL}*"):
        shutil.rmtree(path, ignore_errors=True)


def reason(error: BaseException) -> str:
    """Why a file could not be written, in the system's words: torch and safetensors hide them in their own."""
    if isinstance(error, OSError) and error.errno in FULL:
        return os.strerror(error.errno)
    text = str(error)
    known = next((os.strerror(number) for number in FULL if os.strerror(number) in text), "")
    # torch's writer names no cause; that of an incomplete write is a disk without room.
    incomplete = "PytorchStreamWriter" in text or "unexpected pos" in text or "file write failed" in text
    return known or (os.strerror(errno.ENOSPC) if incomplete else text.strip().split("\n", 1)[0])


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
