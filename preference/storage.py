"""Where exported files lie."""

from pathlib import Path

from django.conf import settings


def exports_root() -> Path:
    return Path(settings.FILES_ROOT) / "exports"
