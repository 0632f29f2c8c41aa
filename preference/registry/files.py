"""Where trained models are stored. Web servers, workers and the training machine share that folder."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from common.refusals import NotFound, Refusal
from preference.registry.models import RegisteredModel

BLOCK = 1 << 20  # bytes
HEAD = "preference_head.safetensors"  # of a jointly trained model
Beat = Callable[[int], None]  # called with the bytes that were read or written; a large model takes minutes


def no_beat(count: int) -> None:
    return


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


def model_file(model: RegisteredModel, name: str) -> Path:
    """One of the model's files on disk. Raises NotFound for any other name, Refusal files_gone."""
    if name not in model.files:
        raise NotFound(
            _("The model “%(name)s” has no file of that name.") % {"name": model.slug},
            _("Its files are listed with it."),
        )
    return folder_of_model(model) / name


def folder_of_all_files(model: RegisteredModel) -> str:
    """What goes with the model when its files are removed, relative to MODELS_ROOT; empty after removal."""
    if model.training_run:
        return model.training_run.folder
    return Path(model.folder).parts[0] if model.folder else ""


def _is_there(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def files_in(folder: Path) -> dict[str, int]:
    """Bytes by name, relative to the folder, in the order of the names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def sha256_of(folder: Path, beat: Beat = no_beat) -> str:
    """SHA-256 of names, sizes and contents of all files."""
    return sha256_of_files(folder, files_in(folder), beat)


def sha256_of_files(folder: Path, files: Mapping[str, int], beat: Beat = no_beat) -> str:
    """The same of some files of a folder; files: bytes by name, in the order of the names."""
    digest = hashlib.sha256()
    for name, size in files.items():
        digest.update(f"{name}:{size};".encode())
        with (folder / name).open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
                beat(len(block))
    return digest.hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; {} if the file is missing or incomplete."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
