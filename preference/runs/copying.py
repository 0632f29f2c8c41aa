"""Copying a model's folder so that a copy is whole or does not exist."""

import os
from collections.abc import Mapping
from pathlib import Path

from django.utils.translation import gettext as _

from common.refusals import Refusal
from common.storage.shared_files import Beat
from preference.registry.hashing import BLOCK, sha256_of_files
from preference.registry.incoming import list_files


def hash_files(folder: Path, files: Mapping[str, int], beat: Beat) -> str:
    """Raises Refusal files_changed if a file is gone."""
    try:
        return sha256_of_files(folder, files, beat)
    except FileNotFoundError as error:
        raise files_changed(folder) from error


def copy_files(source: Path, target: Path, files: Mapping[str, int], sha256: str, beat: Beat) -> None:
    """Copy the files and read the copy again. target must not exist.

    Raises Refusal files_changed unless copy and source are what sha256 was computed of.
    """
    for name, size in files.items():
        _copy_file(source, target, name, size, beat)
    if sha256_of_files(target, files, beat) != sha256 or list_files(source) != files:
        raise files_changed(source)


def _copy_file(source: Path, target: Path, name: str, size: int, beat: Beat) -> None:
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(source / name, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:  # also a link that has taken the file's place
        raise files_changed(source) from error
    written = 0
    with os.fdopen(descriptor, "rb") as reader, (target / name).open("xb") as writer:
        while block := reader.read(BLOCK):
            written += writer.write(block)
            if written > size:
                raise files_changed(source)
            beat(len(block))
        writer.flush()
        os.fsync(writer.fileno())


def files_changed(folder: Path) -> Refusal:
    return Refusal(
        "files_changed",
        _("Files in %(folder)s changed while they were copied.") % {"folder": folder},
        _("Wait until nothing writes there any more, then start it again."),
    )
