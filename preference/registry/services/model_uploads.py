"""Taking the folder of a model that was trained elsewhere, file by file and piece by piece.

A piece says at which byte it begins, so that sending it twice, or going on after a lost connection, stores nothing
twice.
"""

from collections.abc import Mapping
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from common.storage.shared_disk import remove_from_disk
from common.storage.shared_files import shared_models
from dialogues.services.uploads import Readable
from preference.registry.disk_space import check_space
from preference.registry.services.trained_models import check_trainable
from preference.registry.upload_pieces import pieces_of_uploads, too_large
from preference.registry.uploads import (
    ENDED,
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
    shared_models().write(upload.top / MANIFEST, upload.as_json().encode())
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
        raise too_large(settings.MODEL_MAX_BYTES)
    if open_uploads(project.pk) >= MOST_OPEN:
        raise Refusal(
            "too_many_uploads",
            _("%(n)d models of this project are being uploaded already.") % {"n": MOST_OPEN},
            _("Register or cancel one of them."),
        )
    if not shared_models().is_remote:
        check_space(upload.bytes)


def append(*, upload: ModelUpload, name: str, offset: int, source: Readable) -> None:
    """Store the piece of a file that begins at `offset`.

    Raises Invalid (name), Refusal wrong_offset (with `received`), busy, too_large, disk_full, storage_away,
    storage_full; on one disk wrong_hash (422) for a complete file with another content, which then begins again.
    """
    if name not in upload.files:
        raise Invalid(
            _("“%(name)s” is not one of the announced files.") % {"name": name[:200]},
            _("Begin another upload with all files."),
            field="name",
        )
    pieces_of_uploads().append(upload, name, offset, source)


def end_upload(*, project: Project, upload_id: UUID) -> None:
    """Delete what has arrived, because it is registered or nobody wants it. Safe to repeat.

    An empty folder stays for two weeks, so that whoever asks learns what became of it; see uploads.ENDED.
    """
    upload = find_upload(project, upload_id)
    if upload is None:
        return
    if shared_models().is_remote:
        shared_models().write(upload.top / ENDED, b"")
    for name in (MANIFEST, PARTS, upload.name):
        shared_models().remove(upload.top / name)
    if shared_models().is_remote:
        remove_from_disk(upload.top)
