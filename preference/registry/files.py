"""Where trained models are stored. Web servers, workers and the training machine share that folder."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from common.refusals import Refusal
from preference.registry.models import RegisteredModel

BLOCK = 1 << 20  # bytes


def models_root() -> Path:
    return Path(settings.MODELS_ROOT)


def folder_of_model(model: RegisteredModel) -> Path:
    """The folder of a model. Raises Refusal files_gone if a file is missing, resized, or outside MODELS_ROOT."""
    root = models_root().resolve()
    folder = (root / model.folder).resolve()
    wrong = [name for name, size in model.files.items() if not _is_there(folder / name, size)]
    if not model.folder or not folder.is_relative_to(root) or wrong:
        template = _("Files of the model “%(name)s” are missing or incomplete on the server.")
        raise Refusal(
            "files_gone",
            template % {"name": model.slug},
            _("Restore the folder from a backup, or train again."),
            status=410,
            details={"files": wrong[:10]},
        )
    return folder


def _is_there(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def files_in(folder: Path) -> dict[str, int]:
    """Bytes by name, relative to the folder, in the order of the names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def sha256_of(folder: Path, beat: Callable[[], None] = lambda: None) -> str:
    """SHA-256 of names, sizes and contents of all files. beat: called between blocks; a large model takes minutes."""
    digest = hashlib.sha256()
    for name, size in files_in(folder).items():
        digest.update(f"{name}:{size};".encode())
        with (folder / name).open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
                beat()
    return digest.hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; {} if the file is missing or incomplete."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
