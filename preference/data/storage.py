"""Where exported files and frozen data sets lie. Web and workers must share that folder."""

import shutil
from pathlib import Path
from uuid import UUID

from django.conf import settings


def exports_root() -> Path:
    return Path(settings.FILES_ROOT) / "exports"


def folder_of(export_id: UUID) -> Path:
    """One folder an export: the file, its manifest, and what a killed worker left of an earlier attempt."""
    return exports_root() / str(export_id)


def snapshots_root() -> Path:
    return Path(settings.FILES_ROOT) / "snapshots"


def remove_folder(folder: Path) -> None:
    """Also a read-only one; nothing where there is none."""
    if folder.is_dir():
        folder.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)
