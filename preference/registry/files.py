"""Where trained models are stored: in a folder that all hosts share, or in an object store and copies on the hosts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from common.refusals import NotFound, Refusal
from common.storage.shared_files import Beat, no_beat, shared_models
from preference.registry.copies import bring, missing_files, missing_in_store
from preference.registry.models import RegisteredModel

HEAD = "preference_head.safetensors"  # of a jointly trained model


def models_root() -> Path:
    return Path(settings.MODELS_ROOT)


def folder_of_model(model: RegisteredModel, beat: Beat = no_beat) -> Path:
    """The folder of a model on this host, for jobs and workers: fetching a large one takes minutes.

    What was fetched is compared with the model's SHA-256. Raises Refusal files_gone if a file is missing, resized, or
    outside MODELS_ROOT; damaged if the store has other contents; disk_full, storage_away, storage_refused.
    """
    folder = _place_of(model)
    if shared_models().is_remote:
        bring(folder, model.files, model.sha256, beat)
    if wrong := missing_files(folder, model.files):
        raise _files_gone(model, wrong)
    return folder.resolve()


def folder_with(model: RegisteredModel, name: str) -> Path:
    """Its folder with at least this small file on this host. Raises Refusal files_gone."""
    folder = _place_of(model)
    if not (folder / name).is_file():
        shared_models().fetch(folder / name)
    if not (folder / name).is_file():
        raise _files_gone(model, [name])
    return folder.resolve()


def check_files(model: RegisteredModel) -> None:
    """Raises Refusal files_gone unless the files are on this host or in the object store. Fetches nothing."""
    folder = _place_of(model)
    wrong = missing_files(folder, model.files)
    if wrong and shared_models().is_remote:
        wrong = missing_in_store(folder, model.files)
    if wrong:
        raise _files_gone(model, wrong)


def model_file(model: RegisteredModel, name: str) -> Path:
    """Where one of the model's files is, on this host or in the object store. Raises NotFound, Refusal files_gone."""
    if name not in model.files:
        raise NotFound(
            _("The model “%(name)s” has no file of that name.") % {"name": model.slug},
            _("Its files are listed with it."),
        )
    check_files(model)
    return _place_of(model) / name


def _place_of(model: RegisteredModel) -> Path:
    """Where its folder is if it is on this host. Raises Refusal files_gone."""
    folder = models_root() / model.folder
    if not model.folder or not folder.resolve().is_relative_to(models_root().resolve()):
        raise _files_gone(model, [])
    return folder


def _files_gone(model: RegisteredModel, names: Sequence[str]) -> Refusal:
    return Refusal(
        "files_gone",
        _("Files of the model “%(name)s” are missing or incomplete on the server.") % {"name": model.slug},
        _("Restore the folder from a backup, or train again."),
        status=410,
        details={"files": list(names[:10])},
    )


def folder_of_all_files(model: RegisteredModel) -> str:
    """What goes with the model when its files are removed, relative to MODELS_ROOT; empty after removal."""
    if model.training_run:
        return model.training_run.folder
    return Path(model.folder).parts[0] if model.folder else ""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; {} if the file is missing or incomplete."""
    try:
        return parse_object(path.read_bytes())
    except OSError:
        return {}


def parse_object(text: bytes) -> dict[str, Any]:
    """The object that JSON says; {} if it is incomplete or something else."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
