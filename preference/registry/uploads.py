"""Folders of models on their way here: where they lie, and which names they may have.

MODELS_ROOT/.model-uploads/PROJECT/ID/ has upload.json (what was announced), NAME/ (the files that are whole) and
.parts/ (those that are not; see `upload_pieces`). An empty folder is left of what was registered or cancelled. A dot
begins no name of a model or a training, so nothing else lies there.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from common.refusals import NotFound, Refusal
from common.storage.shared_files import shared_models
from preference.registry.files import models_root
from projects.models import Project

UPLOADS: Final = ".model-uploads"  # SeaweedFS lists nothing below .uploads, where it keeps its own
MANIFEST, PARTS, ENDED = "upload.json", ".parts", "ended"
CHUNK_BYTES: Final = 4 << 20  # of one request; the server takes 5 MB for anything but an import
MOST_FILES: Final = 500
MOST_OPEN: Final = 20  # uploads of a project
DEEPEST: Final = 6
# No hidden file, no "..", nothing that a shell or a file system reads otherwise.
PLAIN_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")


@dataclass(frozen=True, slots=True)
class AnnouncedFile:
    """size in bytes. sha256: of the content, in lower-case hexadecimal digits."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelUpload:
    """id: from the client. name: of the folder, from which the model gets its own. files: by name, in their order."""

    id: UUID
    project_id: int
    name: str
    files: Mapping[str, AnnouncedFile]

    @property
    def top(self) -> Path:
        return uploads_of(self.project_id) / str(self.id)

    @property
    def folder(self) -> Path:
        """Of the files that are whole."""
        return self.top / self.name

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files.values())

    def part(self, name: str) -> Path:
        return self.top / PARTS / str(list(self.files).index(name))

    def as_json(self) -> str:
        files = {name: asdict(file) for name, file in self.files.items()}
        return json.dumps({"name": self.name, "files": files})


def uploads_of(project_id: int) -> Path:
    return models_root() / UPLOADS / str(project_id)


def find_upload(project: Project, upload_id: UUID) -> ModelUpload | None:
    """The upload, or None if the project has none of that id."""
    try:
        stored = json.loads(shared_models().read(uploads_of(project.pk) / str(upload_id) / MANIFEST))
    except FileNotFoundError:
        return None
    files = {name: AnnouncedFile(**file) for name, file in stored["files"].items()}
    return ModelUpload(upload_id, project.pk, stored["name"], files)


def upload_for(project: Project, upload_id: UUID) -> ModelUpload:
    """Raises NotFound, Refusal upload_gone (410) after it was registered or cancelled."""
    upload = find_upload(project, upload_id)
    if upload is not None:
        return upload
    if _has_ended(uploads_of(project.pk) / str(upload_id)):
        raise Refusal(
            "upload_gone",
            _("This upload was registered or cancelled."),
            _("Look for the model in the list, or start a new upload."),
            status=HTTPStatus.GONE,
        )
    raise NotFound(
        _("This project has no such upload of a model."),
        _("It may have been deleted because it was too old; start a new upload."),
    )


def _has_ended(top: Path) -> bool:
    """Whether there was an upload: its folder is left, or in an object store, which has no folders, the file ENDED."""
    return top.is_dir() if not shared_models().is_remote else shared_models().exists_anywhere(top / ENDED)


def open_uploads(project_id: int) -> int:
    """How many uploads are neither registered nor cancelled."""
    folder = uploads_of(project_id)
    stored = (file.path.relative_to(folder).parts for file in shared_models().stored_in(folder))
    return sum(1 for parts in stored if parts[1:] == (MANIFEST,))


def is_plain(name: str) -> bool:
    """Whether the name is a safe relative path: PLAIN_PARTs with slashes between them."""
    parts = name.split("/")
    return len(name) <= 200 and len(parts) <= DEEPEST and all(PLAIN_PART.fullmatch(part) for part in parts)


def find_collision(names: set[str]) -> str:
    """The first name that is also the folder of another, or differs only in case; "" if all names are distinct."""
    seen = {name.lower() for name in names}
    folders = {str(parent).lower() for name in names for parent in PurePosixPath(name).parents}
    if len(seen) < len(names):
        return next(name for name in sorted(names) if sum(name.lower() == n.lower() for n in names) > 1)
    return next((name for name in sorted(names) if name.lower() in folders), "")
