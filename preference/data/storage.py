"""Where exported files and snapshots are stored. Web servers and workers must share that folder."""

import shutil
from pathlib import Path
from uuid import UUID

from django.conf import settings


def exports_root() -> Path:
    return Path(settings.FILES_ROOT) / "exports"


def folder_of(export_id: UUID) -> Path:
    """One folder per export: the file, its manifest, and leftovers of a killed worker."""
    return exports_root() / str(export_id)


def snapshots_root() -> Path:
    return Path(settings.FILES_ROOT) / "snapshots"


def remove_folder(folder: Path) -> None:
    """Also if it is read-only; does nothing if it does not exist."""
    if folder.is_dir():
        folder.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
