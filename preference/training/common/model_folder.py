"""Writing a model's folder: the whole of it or nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

EXPLANATION_FILE = "training.json"


def replace_model_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Call `write` with an empty folder, which then gets the name `folder`; an older one stays until it is complete.

    Raises TrainingError if writing fails.
    """
    partial, old = (folder.with_name(f"{folder.name}.{state}") for state in ("part", "old"))
    try:
        for leftover in (partial, old):
            shutil.rmtree(leftover, ignore_errors=True)
        partial.mkdir(parents=True)
        write(partial)
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            _("The model cannot be saved to %(folder)s: %(reason)s.") % {"folder": folder, "reason": error},
            _("Free space there, or name another folder."),
        ) from error


def write_explanation(folder: Path, about: Mapping[str, Any]) -> None:
    """Write training.json beside the weights. Raises OSError."""
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    (folder / EXPLANATION_FILE).write_text(text, encoding="utf-8")


def save_finished(save: Callable[[Path], None], folder: Path) -> None:
    """Write the model that a run ends with. Raises TrainingError if the disk is full; the run can then be resumed.

    The half-written folder is removed, because it holds the space that the next attempt needs.
    """
    try:
        save(folder)
    except TrainingError as error:
        shutil.rmtree(folder.with_name(f"{folder.name}.part"), ignore_errors=True)
        raise TrainingError(error.cause, _("Free some disk space, then continue with --resume.")) from error
    for file in folder.iterdir():
        # safetensors writes files that only their owner may read.
        file.chmod((folder / "config.json").stat().st_mode)
