"""Files that wait for their import, under FILES_ROOT/imports; web and workers must share that folder."""

import errno
import hashlib
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import UUID, uuid4

from django.conf import settings
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.utils.translation import gettext as _

from common.refusals import Invalid, Refusal

CHUNK = 1024**2
FORM_BYTES = 64 * 1024  # what the rest of a form may take beside the file
FORGET_AFTER = 14 * 24 * 3600  # seconds; a cancelled or failed import can be taken up again until then


class Readable(Protocol):
    """An open file, standard input, or Django's UploadedFile."""

    def read(self, size: int = ..., /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was taken in whole. size in bytes."""

    sha256: str
    size: int


def path_of(import_id: UUID) -> Path:
    """Where the file of that import lies."""
    return Path(settings.FILES_ROOT) / "imports" / str(import_id)


def keep(source: Readable, *, import_id: UUID) -> Upload:
    """Copy the source to its place, in constant memory. Nothing is left there when it is refused.

    Raises Refusal "too_large" and "disk_full", Invalid for an empty file.
    """
    path = path_of(import_id)
    partial = path.with_suffix(f".{uuid4().hex}.part")  # the same submission may come twice at once
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        upload = _copied(source, partial)
        partial.replace(path)
    except OSError as error:
        if is_full_disk(error):
            raise disk_full() from error
        raise
    finally:
        partial.unlink(missing_ok=True)
    return upload


class DiskUploadHandler(TemporaryFileUploadHandler):
    """Django's, which leaves its temporary file open and on the disk when that is full. Named in the settings."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        try:
            return super().receive_data_chunk(raw_data, start)
        except OSError:
            with suppress(OSError):  # closing writes what waits to be written, which fails once more
                self.file.close()
            raise


def forget(import_id: UUID) -> None:
    """Remove the file; safe to repeat."""
    path_of(import_id).unlink(missing_ok=True)


def forget_old() -> None:
    """Remove files that nobody came back for, and what a killed web process left."""
    before = time.time() - FORGET_AFTER
    for path in path_of(UUID(int=0)).parent.glob("*"):
        try:
            if path.stat().st_mtime < before:
                path.unlink()
        except FileNotFoundError:  # another process removes them too
            continue


def _copied(source: Readable, path: Path) -> Upload:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        while chunk := source.read(CHUNK):
            size += len(chunk)
            check_size(size)
            digest.update(chunk)
            file.write(chunk)
    if not size:
        raise Invalid(_("The file is empty."), _("Choose a file that holds dialogues."), field="file")
    return Upload(digest.hexdigest(), size)


def check_announced(length: str | None) -> None:
    """Ask with the Content-Length of a request, before anything of it is read. Raises Refusal too_large."""
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
    """EFBIG is what a limit on the size of files says."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def disk_full() -> Refusal:
    """While a file was taken in, by us or by Django's upload handler."""
    return Refusal(
        "disk_full",
        _("There is no room left on the disk for this file. Nothing of it was kept."),
        _("Ask the operator to free some space, then send it again."),
        status=507,
    )
