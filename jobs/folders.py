"""Whether the processes that must share files do: each folder, or the object store, has a marker with a random id.

A process on another disk, or with another store, finds another marker there, or makes one. So processes compare ids,
not paths, which may differ between containers, nor addresses, which may name one store in two ways.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from uuid import uuid4

from django.conf import settings

from common.refusals import Refusal
from common.storage.shared_files import SharedFiles, shared_files, shared_models

MARKER: Final = ".lapidary-folder"
SHARED: Final[dict[str, Callable[[], SharedFiles]]] = {
    "FILES_ROOT": shared_files,
    "MODELS_ROOT": shared_models,
}  # by setting
ASK_STORE_EVERY: Final = 30  # seconds; a heartbeat and a new job come more often

FolderIds = dict[str, str]
_asking = threading.Lock()
_answers: dict[Path, tuple[float, str | None]] = {}  # when a store was asked, and its last id


def folder_ids(*, make: bool = True) -> FolderIds:
    """The id of each shared folder by its setting; empty if this process can neither read nor make the marker.

    While an object store is away, its last id counts; without one the setting is left out. make=False: only look, for a
    command that somebody else than the servers' user may run.
    """
    ids = {
        name: _id_of(files(), Path(getattr(settings, name)) / MARKER, make=make)
        for name, files in SHARED.items()
    }
    return {name: id for name, id in ids.items() if id is not None}


def known_folder_ids() -> FolderIds:
    """What folder_ids() gives, without waiting for an object store: its last answers, none before the first.

    For heartbeats and requests. A store that hangs must not make a worker look dead.
    """
    if not any(files().is_remote for files in SHARED.values()):
        return folder_ids()
    if not _asking.locked():
        threading.Thread(target=_ask, daemon=True, name="folder-ids").start()
    markers = {name: Path(getattr(settings, name)) / MARKER for name in SHARED}
    answers = {name: _answers[marker][1] for name, marker in markers.items() if marker in _answers}
    return {name: id for name, id in answers.items() if id is not None}


def _ask() -> None:
    if _asking.acquire(blocking=False):
        try:
            folder_ids()
        finally:
            _asking.release()


def differing_folders(ids: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    """The settings whose folders are not the same ones; those that one of the two does not know are left out.

    With an object store also those of which the others say "": earlier releases wrote that while the store was away.
    """
    return [
        name
        for name, files in SHARED.items()
        if name in ids
        and name in others
        and ids[name] != others[name]
        and (others[name] or not files().is_remote)
    ]


def _id_of(files: SharedFiles, marker: Path, *, make: bool) -> str | None:
    """None if an object store is away and has not answered before."""
    if not files.is_remote:
        return _read_id(files, marker, make=make) or ""
    asked_at, known = _answers.get(marker, (-float("inf"), None))
    if time.monotonic() - asked_at > ASK_STORE_EVERY:
        # Its time counts from the answer: a store that hangs is not asked again at once.
        answer = _read_id(files, marker, make=make)
        known = known if answer is None else answer
        _answers[marker] = time.monotonic(), known
    return known


def _read_id(files: SharedFiles, marker: Path, *, make: bool) -> str | None:
    """Empty if there is no marker; None if it cannot be read or made."""
    with contextlib.suppress(OSError, Refusal):
        try:
            return _decoded(files.read(marker))
        except FileNotFoundError:
            if not make:
                return ""
            _make(marker)
            files.publish(marker)
            return _decoded(files.read(marker))
    return None


def _decoded(marker: bytes) -> str:
    return marker.decode("ascii", "replace").strip()


def _make(marker: Path) -> None:
    """In a store the last of several processes wins, and all of them read its id the next time."""
    marker.parent.mkdir(parents=True, exist_ok=True)
    new = marker.with_name(f"{MARKER}.{uuid4().hex}")
    new.write_text(uuid4().hex, encoding="ascii")
    # A link is made whole or not at all, and the first of several processes wins.
    with contextlib.suppress(FileExistsError):
        os.link(new, marker)
    new.unlink()
