"""The files of a folder, and the hash of all of them by which a model is recognised."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from common.storage.shared_files import Beat, no_beat

BLOCK = 1 << 20  # bytes


def files_in(folder: Path) -> dict[str, int]:
    """Bytes by name, relative to the folder, in the order of the names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def sha256_of(folder: Path, beat: Beat = no_beat) -> str:
    """SHA-256 of names, sizes and contents of all files."""
    return sha256_of_files(folder, files_in(folder), beat)


def sha256_of_files(folder: Path, files: Mapping[str, int], beat: Beat = no_beat) -> str:
    """The same of some files of a folder; files: bytes by name, in the order of the names."""
    digest = hashlib.sha256()
    for name, size in files.items():
        digest.update(f"{name}:{size};".encode())
        with (folder / name).open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
                beat(len(block))
    return digest.hexdigest()
