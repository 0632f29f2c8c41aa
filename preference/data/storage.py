"""Where exported files and snapshots are: below FILES_ROOT, or of this name in the object store."""

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
