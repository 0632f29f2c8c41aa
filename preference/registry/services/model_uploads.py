"""Taking the folder of a model that was trained elsewhere, file by file and piece by piece.

A piece says at which byte it begins, so that sending it twice, or going on after a lost connection, stores nothing
twice. A file gets its name once all of it is there and has the announced SHA-256.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from dialogues.services.uploads import Readable, disk_full, is_full_disk
from preference.registry.files import BLOCK
from preference.registry.services.incoming import check_space
from preference.registry.services.trained_models import check_trainable
from preference.registry.uploads import (
    MANIFEST,
    MOST_FILES,
    MOST_OPEN,
    PARTS,
    PLAIN_PART,
    AnnouncedFile,
    ModelUpload,
    find_collision,
    find_upload,
    is_plain,
    open_uploads,
)
from projects.models import Project


def start_upload(
    *, upload_id: UUID, project: Project, name: str, files: Mapping[str, AnnouncedFile]
) -> ModelUpload:
    """Announce a folder of files. The same upload_id with the same files returns the upload as far as it is.

    Raises Invalid (name, files), Refusal no_authoring, too_large, too_many_uploads, disk_full, id_in_use.
    """
    if stored := find_upload(project, upload_id):
        check_repeat({"name": stored.name, "files": dict(stored.files)}, name=name, files=dict(files))
        return stored
    check_trainable(project)
    _check_announcement(name, files)
    upload = ModelUpload(upload_id, project.pk, name, dict(sorted(files.items())))
    _check_limits(project, upload)
    (upload.top / PARTS).mkdir(parents=True, exist_ok=True)
    upload.folder.mkdir(exist_ok=True)
    new = upload.top / f"{MANIFEST}.new"
    new.write_text(upload.as_json(), encoding="utf-8")
    new.replace(upload.top / MANIFEST)
    return upload


def _check_announcement(name: str, files: Mapping[str, AnnouncedFile]) -> None:
    if not PLAIN_PART.fullmatch(name) or name == MANIFEST:
        raise Invalid(
            _("“%(name)s” cannot be the name of a folder.") % {"name": name[:100]},
            _("Use up to 100 letters, digits, “-”, “_”, “+” and “.”, and begin with a letter or digit."),
            field="name",
        )
    if not 1 <= len(files) <= MOST_FILES:
        raise Invalid(
            _("A model has 1 to %(most)d files.") % {"most": MOST_FILES},
            _("Send only the folder of the model, without checkpoints."),
            field="files",
        )
    bad = next((file for file in files if not is_plain(file)), "") or find_collision(set(files))
    if bad:
        raise Invalid(
            _("“%(name)s” cannot be the name of a file of a model.") % {"name": bad[:200]},
            _("Rename it: plain letters and digits, no hidden file, and no two that differ only in case."),
            field="files",
        )


def _check_limits(project: Project, upload: ModelUpload) -> None:
    if upload.bytes > settings.MODEL_MAX_BYTES:
        raise _too_large(settings.MODEL_MAX_BYTES)
    if open_uploads(project.pk) >= MOST_OPEN:
        raise Refusal(
            "too_many_uploads",
            _("%(n)d models of this project are being uploaded already.") % {"n": MOST_OPEN},
            _("Register or cancel one of them."),
        )
    check_space(upload.bytes)


def append(*, upload: ModelUpload, name: str, offset: int, source: Readable) -> None:
    """Store the piece of a file that begins at `offset`. What arrives before a connection is lost is kept.

    Raises Invalid (name), Refusal wrong_offset (with `received`), busy, too_large, disk_full; wrong_hash (422) for a
    complete file with another content, which then begins again.
    """
    if name not in upload.files:
        raise Invalid(
            _("“%(name)s” is not one of the announced files.") % {"name": name[:200]},
            _("Begin another upload with all files."),
            field="name",
        )
    announced = upload.files[name]
    with _locked(upload, name) as part:
        if upload.received_of(name) != offset or upload.has(name):
            raise _wrong_offset(upload, name)
        _write(part, offset, announced.size, source)
        if part.stat().st_size == announced.size:
            _finish(upload, name, part)


@contextmanager
def _locked(upload: ModelUpload, name: str) -> Iterator[Path]:
    """Raises Refusal busy if another request is writing this file."""
    part = upload.part(name)
    try:
        file = part.with_name(f"{part.name}.lock").open("ab")
    except FileNotFoundError as error:  # the upload was cancelled a moment ago
        raise _wrong_offset(upload, name) from error
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
    try:
        with part.open("r+b" if offset else "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.seek(offset)
            while block := source.read(BLOCK):
                if file.tell() + len(block) > size:
                    file.truncate(offset)
                    raise _too_large(size)
                file.write(block)
    except OSError as error:
        if not is_full_disk(error):
            raise
        os.truncate(part, offset)
        raise disk_full() from error


def _finish(upload: ModelUpload, name: str, part: Path) -> None:
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != upload.files[name].sha256:
        part.unlink()
        raise Refusal(
            "wrong_hash",
            _("What arrived of %(name)s is not what was announced: its SHA-256 differs.") % {"name": name},
            _("Send the file again from its beginning; it may have changed meanwhile."),
            status=422,
            details={"sha256": found, "received": 0},
        )
    target = upload.folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    part.replace(target)


def end_upload(*, project: Project, upload_id: UUID) -> None:
    """Delete what has arrived, because it is registered or nobody wants it. Safe to repeat.

    An empty folder stays for two weeks, so that whoever asks learns what became of it.
    """
    upload = find_upload(project, upload_id)
    if upload is not None:
        (upload.top / MANIFEST).unlink(missing_ok=True)
        for path in upload.top.iterdir():
            shutil.rmtree(path, ignore_errors=True)


def _wrong_offset(upload: ModelUpload, name: str) -> Refusal:
    received = upload.received_of(name)
    return Refusal(
        "wrong_offset",
        _("%(received)d bytes of %(name)s have arrived; the next piece begins there.")
        % {"received": received, "name": name},
        _("Send the file from that byte on."),
        details={"received": received},
    )


def _too_large(most: int) -> Refusal:
    return Refusal(
        "too_large",
        _("That is more than the %(most)d bytes that may arrive here.") % {"most": most},
        _("Send what was announced; for a larger model, ask the operator to raise MODEL_MAX_BYTES."),
        status=413,
        details={"limit": most},
    )
