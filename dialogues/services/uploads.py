"""Uploaded files waiting for their import, under FILES_ROOT/imports or in the object store."""

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import BoundedSemaphore
from typing import Protocol
from uuid import UUID, uuid4

from django.conf import settings
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.utils.translation import gettext as _

from common.refusals import Invalid, Refusal
from common.storage.shared_files import Beat, no_beat, shared_files

CHUNK = 1024**2
FORM_BYTES = 64 * 1024  # for the other fields of the form
DELETE_AFTER = 14 * 24 * 3600  # seconds; a cancelled or failed import can be started again until then


# The requests of this process that may carry a file. Each holds a thread and writes to the disk.
_slots = BoundedSemaphore(settings.UPLOADS_AT_ONCE)


@contextmanager
def one_of_few() -> Iterator[None]:
    """Take one of the few places for an upload. Raises Refusal "too_many_uploads" (503) at once if all are taken."""
    if not _slots.acquire(blocking=False):
        raise Refusal(
            "too_many_uploads",
            _("Several files are being uploaded already."),
            _("Send it again in a moment."),
            status=HTTPStatus.SERVICE_UNAVAILABLE,
        )
    try:
        yield
    finally:
        _slots.release()


class Readable(Protocol):
    """An open file, standard input, or Django's UploadedFile."""

    def read(self, size: int = ..., /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Upload:
    """A complete uploaded file. size in bytes."""

    sha256: str
    size: int


def upload_path(import_id: UUID) -> Path:
    """The path of the import's file."""
    return Path(settings.FILES_ROOT) / "imports" / str(import_id)


def save_upload(source: Readable, *, import_id: UUID) -> Upload:
    """Copy the source to its path, in constant memory. Leaves nothing behind if it is refused.

    Raises Refusal "too_large" and "disk_full", Invalid for an empty file, and what SharedFiles raises.
    """
    path = upload_path(import_id)
    partial = path.with_suffix(f".{uuid4().hex}.part")  # the same import may be sent twice at once
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        upload = _copy(source, partial)
        partial.replace(path)
    except OSError as error:
        if is_full_disk(error):
            raise disk_full() from error
        raise
    finally:
        partial.unlink(missing_ok=True)
    shared_files().hand_over(path)
    return upload


class DiskUploadHandler(TemporaryFileUploadHandler):
    """Django's handler leaves its temporary file open, and on the disk, when the disk is full. Used by the settings."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        try:
            return super().receive_data_chunk(raw_data, start)
        except OSError:
            with suppress(OSError):  # closing flushes the buffer, which fails again
                self.file.close()
            raise


def delete_upload(import_id: UUID) -> None:
    """Delete the file. Safe to repeat."""
    shared_files().remove(upload_path(import_id))


def fetch_upload(import_id: UUID, beat: Beat = no_beat) -> Path:
    """The path of the file, which is on this host then, if it still exists."""
    shared_files().fetch(upload_path(import_id), beat)
    return upload_path(import_id)


def may_have_upload(import_id: UUID) -> bool:
    """False if the file is gone. A store that does not answer may have it."""
    try:
        return shared_files().exists_anywhere(upload_path(import_id))
    except Refusal:
        return True


def delete_old_uploads() -> None:
    """Delete files of abandoned imports and partial files of killed web processes."""
    before, files, folder = time.time() - DELETE_AFTER, shared_files(), upload_path(UUID(int=0)).parent
    for path in folder.glob("*"):
        try:
            if path.stat().st_mtime < before:
                path.unlink()
        except FileNotFoundError:  # another process deletes them too
            continue
    if files.is_remote:
        for stored in list(files.stored_in(folder)):
            if stored.changed_at < before:
                files.remove(stored.path)


def measure_upload(source: Readable) -> Upload:
    """Read the source without storing it: a repeated upload is compared with the first. Raises like save_upload."""
    return _copy(source, Path(os.devnull))


def _copy(source: Readable, path: Path) -> Upload:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        if path != Path(os.devnull):
            os.fchmod(file.fileno(), 0o600)  # dialogues of real people
        while chunk := source.read(CHUNK):
            size += len(chunk)
            check_size(size)
            digest.update(chunk)
            file.write(chunk)
    if not size:
        raise Invalid(_("The file is empty."), _("Choose a file that holds dialogues."), field="file")
    return Upload(digest.hexdigest(), size)


def check_content_length(length: str | None) -> None:
    """Check the Content-Length of a request before its body is read. Raises Refusal too_large."""
    if length and length.isdecimal():
        check_size(int(length) - FORM_BYTES)


def check_size(size: int) -> None:
    """Raises Refusal too_large."""
    if size > settings.IMPORT_MAX_BYTES:
        megabytes = settings.IMPORT_MAX_BYTES // 1024**2
        raise Refusal(
            "too_large",
            _("The file is larger than %(limit)d MB.") % {"limit": megabytes},
            _("Split it, or ask the operator to raise IMPORT_MAX_BYTES."),
            status=413,
            details={"limit": settings.IMPORT_MAX_BYTES},
        )


def is_full_disk(error: OSError) -> bool:
    """Whether the disk, a quota or a limit on file sizes (EFBIG) stopped the write."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def disk_full() -> Refusal:
    """The refusal when the disk fills up during an upload."""
    return Refusal(
        "disk_full",
        _("There is no room left on the disk for this file. Nothing of it was kept."),
        _("Ask the operator to free some space, then send it again."),
        status=507,
    )
