"""The output folder of a run: who owns it, what is in it, and whether a run may continue there.

DIR/.lock            held by the process that trains
DIR/training.json    the explanation: recipe, data, base model, layout, versions
DIR/state.json       running, stopped, failed or done, with a message and a remedy
DIR/progress.jsonl   one line per optimiser step
DIR/tensorboard/     the same for TensorBoard
DIR/checkpoints/     checkpoint-STEP/, the newest ones
DIR/last/            the model of the last step, if validation chose an earlier one
DIR/model/           the finished model; its existence means that the run has ended
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from preference.training.common import checkpoints
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.progress import replace_json
from preference.training.common.recipes import differences

# What a run leaves that ended before its first checkpoint; overwriting it loses nothing.
LEFTOVERS = frozenset({".lock", "state.json", "training.json", "progress.jsonl", "tensorboard"})
PACKAGES = ("torch", "transformers", "accelerate", "peft", "safetensors")
Explanation = dict[str, Any]


class OutputFolder:
    """The folder named by --output.

    One process at a time owns it: two that train into one folder would overwrite each other's checkpoints. Within a
    run of several processes the main one holds the lock for all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoints = folder / "checkpoints"
        self.last = folder / "last"
        self.model = folder / "model"
        self._lock: IO[str] | None = None

    def claim(self, *, resume: bool) -> None:
        """Create and lock the folder. Raises TrainingError if it holds anything that this run would destroy.

        resume: continue what is there; otherwise the folder must be new, empty, or left by a run without a checkpoint.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            if not resume:
                self._refuse_foreign_content()
                self._clear()
            self.checkpoints.mkdir(exist_ok=True)
        except OSError as error:
            raise TrainingError(
                _("The folder %(folder)s cannot be written: %(reason)s.")
                % {"folder": self.folder, "reason": error.strerror},
                _("Name another with --output, or correct its permissions."),
            ) from error
        checkpoints.remove_partial(self.checkpoints)

    @property
    def finished(self) -> bool:
        """Whether the model is there. It is renamed into place last, so that its existence means that it is whole."""
        return self.model.is_dir()

    def last_checkpoint(self) -> Path | None:
        """The checkpoint that --resume continues from, or None."""
        return checkpoints.newest(self.checkpoints)

    def explain(self, explanation: Explanation) -> None:
        """Write training.json."""
        replace_json(self.folder / "training.json", explanation)

    def check_same_run(
        self, explanation: Explanation, *, free: Collection[str], before: Mapping[str, Any]
    ) -> None:
        """Raise TrainingError if the last checkpoint belongs to another run.

        explanation: of this run; its recipe, data["sha256"] and base_model["version"] are compared. free,
        before: see `differences`.
        """
        checkpoint = self.last_checkpoint()
        if checkpoint is not None:
            saved = json.loads((checkpoint / "training.json").read_text(encoding="utf-8"))
            differ = differences(explanation["recipe"], saved["recipe"], free=free, before=before)
            _check_same(explanation, saved, checkpoint, differ)

    def _take_lock(self) -> None:
        """Lock the folder without waiting. A lock file alone would outlive a killed process; a lock on it does not."""
        lock = (self.folder / ".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise TrainingError(
                _("Another process is training into %(folder)s.") % {"folder": self.folder},
                _("Wait until it ends, or name another folder."),
            ) from None
        self._lock = lock  # the system frees it when the process ends, however it ends

    def release(self) -> None:
        """Free the lock."""
        if self._lock is not None:
            self._lock.close()

    def _refuse_foreign_content(self) -> None:
        """Raise TrainingError for another run's work, and for files that no run writes: a mistyped --output."""
        if checkpoints.checkpoints(self.checkpoints) or self.finished:
            raise TrainingError(
                _("%(folder)s holds another run.") % {"folder": self.folder},
                _("Continue it with --resume, or name another folder."),
            )
        foreign = sorted(path.name for path in self.folder.iterdir() if not self._is_replaceable(path))
        if foreign:
            raise TrainingError(
                _("%(folder)s holds other files (%(names)s).")
                % {"folder": self.folder, "names": ", ".join(foreign[:3])},
                _("Name an empty or a new folder."),
            )

    def _is_replaceable(self, path: Path) -> bool:
        """Whether a run wrote this and can write it again; `.name.part` is a file that a kill left half-written."""
        known = path.name in LEFTOVERS or path in (self.checkpoints, self.folder / "model.part")
        return known or (path.name.startswith(".") and path.name.endswith(".part"))

    def _clear(self) -> None:
        """Remove what an earlier run without a checkpoint left, or its curve would continue in this run's."""
        for name in LEFTOVERS - {".lock"}:
            path = self.folder / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _check_same(mine: Explanation, saved: Explanation, checkpoint: Path, differ: list[str]) -> None:
    """Raise TrainingError, listing what differs, if the checkpoint was made from other inputs.

    differ: settings of the recipe.

    Continued with another recipe, data set or base model the run would end at weights that no single run can reproduce,
    and its training.json would describe only the last part.
    """
    if mine["data"]["sha256"] != saved["data"]["sha256"]:
        sums = {"saved": saved["data"]["sha256"][:12], "mine": mine["data"]["sha256"][:12]}
        differ.append(_("data (SHA-256): %(saved)s → %(mine)s") % sums)
    if mine["base_model"]["version"] != saved["base_model"]["version"]:
        models = {"saved": saved["base_model"]["version"], "mine": mine["base_model"]["version"]}
        differ.append(_("base model: %(saved)s → %(mine)s") % models)
    if differ:
        raise TrainingError(
            _("%(checkpoint)s is of another run: %(differences)s.")
            % {"checkpoint": checkpoint, "differences": "; ".join(differ)},
            _("Resume with the same data, model and recipe, or start again in another folder."),
        )


def data_file(data: Path) -> Path:
    """The file to read: `data` itself, or the dialogues.jsonl of a snapshot folder."""
    return data / "dialogues.jsonl" if data.is_dir() else data


def sha256_of(data: Path) -> str:
    """SHA-256 of the file that is read, in hexadecimal."""
    with data_file(data).open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute."""
    return {"python": sys.version.split()[0], **{name: version(name) for name in PACKAGES}}


def code_commit() -> str:
    """The commit of this code, or "unknown" outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return result.stdout.strip() or "unknown"
