"""Whether the processes that must share a folder do: each folder has a marker file with a random id.

A process on another disk finds another marker there, or makes one. So processes compare ids, not paths, which may
differ between containers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import uuid4

from django.conf import settings

MARKER: Final = ".lapidary-folder"
SHARED: Final = ("FILES_ROOT", "MODELS_ROOT")  # settings

FolderIds = dict[str, str]


def folder_ids(*, make: bool = True) -> FolderIds:
    """The id of each shared folder by its setting; empty if this process can neither read nor make the marker.

    make=False: only look, for a command that somebody else than the servers' user may run.
    """
    return {name: _read_id(Path(getattr(settings, name)) / MARKER, make=make) for name in SHARED}


def differing_folders(ids: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    """The settings whose folders are not the same ones; those that one of the two does not know are left out."""
    return [name for name in SHARED if name in ids and name in others and ids[name] != others[name]]


def _read_id(marker: Path, *, make: bool) -> str:
    with contextlib.suppress(OSError):
        if make and not marker.exists():
            _make(marker)
        return marker.read_text(encoding="ascii").strip()
    return ""


def _make(marker: Path) -> None:
    marker.parent.mkdir(parents=True, exist_ok=True)
    new = marker.with_name(f"{MARKER}.{uuid4().hex}")
    new.write_text(uuid4().hex, encoding="ascii")
    # A link is made whole or not at all, and the first of several processes wins.
    with contextlib.suppress(FileExistsError):
        os.link(new, marker)
    new.unlink()
