"""Disks that are really full."""

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file of this process may become larger than `size` bytes; works without root."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    earlier = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then write() says EFBIG
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, earlier)


@contextmanager
def disk_of(size: int, folder: Path) -> Iterator[Path]:
    """A file system of its own of `size` bytes. Mounting needs root; skips the test without."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system of its own can be mounted by root only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # a dying file may still be open


def resize(folder: Path, size: int) -> None:
    """Give a disk_of() more room."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)
