"""Storing the pieces of a model's files, and how much of each file has arrived.

On one disk, a piece is appended to those before it, and a file gets its name once all of it is there and has the
announced SHA-256. With an object store, the next piece may reach another web server, so that each is an object, named
by the byte at which it begins; the registration puts them together and compares the SHA-256.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from django.utils.translation import gettext as _

from common.refusals import Refusal
from common.storage.shared_disk import remove_from_disk
from common.storage.shared_files import Beat, shared_models
from dialogues.services.uploads import Readable, disk_full, is_full_disk
from preference.registry.hashing import BLOCK
from preference.registry.uploads import PARTS, ModelUpload

UNFINISHED = ".new"  # ends the names of pieces that are being received


@dataclass(frozen=True, slots=True)
class Arrival:
    """received: bytes from the beginning on, without a gap."""

    received: int
    is_whole: bool


class Pieces(Protocol):
    def arrivals(self, upload: ModelUpload) -> dict[str, Arrival]:
        """By the name of the file."""

    def append(self, upload: ModelUpload, name: str, offset: int, source: Readable) -> None:
        """See services.model_uploads.append."""

    def put_together(self, upload: ModelUpload, beat: Beat) -> None:
        """Have the whole files in the upload's folder on this host. Raises Refusal wrong_hash, disk_full."""


def pieces_of_uploads() -> Pieces:
    return PiecesInStore() if shared_models().is_remote else PiecesOnDisk()


def uploaded_folder(upload: ModelUpload) -> Path:
    """The folder with all files, after `put_together`. Raises Refusal incomplete."""
    arrivals = pieces_of_uploads().arrivals(upload)
    missing = sorted(name for name, arrival in arrivals.items() if not arrival.is_whole)
    if missing:
        raise Refusal(
            "incomplete",
            _("%(n)d files of this upload are not complete yet, for example %(name)s.")
            % {"n": len(missing), "name": missing[0]},
            _("Send the rest of them first."),
            details={"missing": missing[:10]},
        )
    return upload.folder


class PiecesOnDisk:
    def arrivals(self, upload: ModelUpload) -> dict[str, Arrival]:
        return {name: self._arrival(upload, name) for name in upload.files}

    def _arrival(self, upload: ModelUpload, name: str) -> Arrival:
        is_whole = (upload.folder / name).is_file()
        path = upload.folder / name if is_whole else upload.part(name)
        try:
            return Arrival(path.stat().st_size, is_whole)
        except FileNotFoundError:
            return Arrival(0, is_whole=False)

    def append(self, upload: ModelUpload, name: str, offset: int, source: Readable) -> None:
        """What arrives before a connection is lost is kept."""
        with _locked(upload, name) as part:
            _check_offset(self._arrival(upload, name), name, offset)
            size = upload.files[name].size
            _write(part, offset, size, source)
            if part.stat().st_size == size:
                _finish(upload, name, part)

    def put_together(self, upload: ModelUpload, beat: Beat) -> None:
        return


class PiecesInStore:
    def arrivals(self, upload: ModelUpload) -> dict[str, Arrival]:
        pieces: dict[str, list[tuple[int, int]]] = {name: [] for name in upload.files}
        names = list(upload.files)
        for stored in shared_models().stored_in(upload.top / PARTS):
            pieces[names[int(stored.path.parent.name)]].append((int(stored.path.name), stored.bytes))
        return {name: _arrival(found, upload.files[name].size) for name, found in pieces.items()}

    def append(self, upload: ModelUpload, name: str, offset: int, source: Readable) -> None:
        """What arrives before a connection is lost is sent again."""
        folder = upload.part(name)
        pieces = [(int(stored.path.name), stored.bytes) for stored in shared_models().stored_in(folder)]
        _check_offset(_arrival(pieces, upload.files[name].size), name, offset)
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(upload, name):
            piece = folder / f"{offset:020d}"
            new = piece.with_suffix(UNFINISHED)
            try:
                _write(new, 0, upload.files[name].size - offset, source)
                if new.stat().st_size or not upload.files[name].size:
                    new.replace(piece)
                    shared_models().hand_over(piece)
            finally:
                new.unlink(missing_ok=True)

    def put_together(self, upload: ModelUpload, beat: Beat) -> None:
        for name, announced in upload.files.items():
            target = upload.folder / name
            if not (target.is_file() and target.stat().st_size == announced.size):
                folder = upload.part(name)
                shared_models().fetch(folder, beat)
                whole = folder.with_suffix(UNFINISHED)
                _join(folder, whole, beat)
                _finish(upload, name, whole)
                remove_from_disk(folder)


def _arrival(pieces: list[tuple[int, int]], size: int) -> Arrival:
    """pieces: where they begin, and their bytes. A piece that was sent twice may overlap the next one."""
    end = 0
    for begin, length in sorted(pieces):
        if begin > end:
            break
        end = max(end, begin + length)
    return Arrival(end, is_whole=bool(pieces) and end == size)


def _check_offset(arrival: Arrival, name: str, offset: int) -> None:
    if arrival.received != offset or arrival.is_whole:
        raise _wrong_offset(name, arrival.received)


@contextmanager
def _locked(upload: ModelUpload, name: str) -> Iterator[Path]:
    """Raises Refusal busy if another request to this host is sending this file."""
    part = upload.part(name)
    try:
        file = part.with_name(f"{part.name}.lock").open("ab")
    except FileNotFoundError as error:  # the upload was cancelled a moment ago
        raise _wrong_offset(name, 0) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refusal(
                "busy",
                _("Another request is sending this file."),
                _("Wait until it has ended, then ask how far the file is."),
            ) from error
        yield part


def _write(part: Path, offset: int, size: int, source: Readable) -> None:
    """Write what follows the first `offset` bytes, up to `size` bytes in all."""
    try:
        with part.open("r+b" if offset else "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.seek(offset)
            while block := source.read(BLOCK):
                if file.tell() + len(block) > size:
                    file.truncate(offset)
                    raise too_large(size)
                file.write(block)
    except OSError as error:
        if not is_full_disk(error):
            raise
        os.truncate(part, offset)
        raise disk_full() from error


def _join(folder: Path, whole: Path, beat: Beat) -> None:
    try:
        with whole.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            for piece in sorted(path for path in folder.iterdir() if path.name.isdigit()):
                file.seek(int(piece.name))
                _append(file, piece, beat)
    except OSError as error:
        raise (disk_full() if is_full_disk(error) else error) from error


def _append(file: BinaryIO, piece: Path, beat: Beat) -> None:
    with piece.open("rb") as source:
        while block := source.read(BLOCK):
            file.write(block)
            beat(0)


def _finish(upload: ModelUpload, name: str, whole: Path) -> None:
    """Raises Refusal wrong_hash, after removing what has arrived of the file."""
    with whole.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != upload.files[name].sha256:
        whole.unlink()
        shared_models().remove(upload.part(name))
        raise Refusal(
            "wrong_hash",
            _("What arrived of %(name)s is not what was announced: its SHA-256 differs.") % {"name": name},
            _("Send the file again from its beginning; it may have changed meanwhile."),
            status=422,
            details={"sha256": found, "received": 0},
        )
    target = upload.folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    whole.replace(target)


def _wrong_offset(name: str, received: int) -> Refusal:
    return Refusal(
        "wrong_offset",
        _("%(received)d bytes of %(name)s have arrived; the next piece begins there.")
        % {"received": received, "name": name},
        _("Send the file from that byte on."),
        details={"received": received},
    )


def too_large(most: int) -> Refusal:
    return Refusal(
        "too_large",
        _("That is more than the %(most)d bytes that may arrive here.") % {"most": most},
        _("Send what was announced; for a larger model, ask the operator to raise MODEL_MAX_BYTES."),
        status=413,
        details={"limit": most},
    )
