"""The folder that a run writes: whose it is, what it holds, and whether a run may go on in it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from preference.training.common import checkpoints
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.progress import replace_json
from preference.training.joint.recipe import differences

# What a run that ended before its first checkpoint leaves; nothing is lost with it.
LEFTOVERS = frozenset({".lock", "state.json", "training.json", "progress.jsonl", "tensorboard"})
PACKAGES = ("torch", "transformers", "accelerate", "peft", "safetensors")
Explanation = dict[str, Any]


class Output:
    """checkpoints/, model/ (when done), training.json, state.json, progress.jsonl, tensorboard/."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoints = folder / "checkpoints"
        self.model = folder / "model"
        self._lock: IO[str] | None = None

    def claim(self, *, resume: bool) -> None:
        """Make the folder this run's. Raises TrainingError where it holds anything that would be lost."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            if not resume:
                self._refuse_what_is_there()
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
        return self.model.is_dir()

    def last_checkpoint(self) -> Path | None:
        return checkpoints.newest(self.checkpoints)

    def explain(self, explanation: Explanation) -> None:
        replace_json(self.folder / "training.json", explanation)

    def check_same_run(self, explanation: Explanation) -> None:
        """Raises TrainingError where the last checkpoint is of another run."""
        checkpoint = self.last_checkpoint()
        if checkpoint is not None:
            saved = json.loads((checkpoint / "training.json").read_text(encoding="utf-8"))
            _check_same(explanation, saved, checkpoint)

    def _take_lock(self) -> None:
        lock = (self.folder / ".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise TrainingError(
                _("Another process is training into %(folder)s.") % {"folder": self.folder},
                _("Wait until it ends, or name another folder."),
            ) from None
        self._lock = lock  # the system frees it with the process, however that ends

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def _refuse_what_is_there(self) -> None:
        if checkpoints.checkpoints(self.checkpoints) or self.finished:
            raise TrainingError(
                _("%(folder)s holds another run.") % {"folder": self.folder},
                _("Continue it with --resume, or name another folder."),
            )
        foreign = sorted(path.name for path in self.folder.iterdir() if not self._own(path))
        if foreign:
            raise TrainingError(
                _("%(folder)s holds other files (%(names)s).")
                % {"folder": self.folder, "names": ", ".join(foreign[:3])},
                _("Name an empty or a new folder."),
            )

    def _own(self, path: Path) -> bool:
        known = path.name in LEFTOVERS or path in (self.checkpoints, self.folder / "model.part")
        return known or (path.name.startswith(".") and path.name.endswith(".part"))

    def _clear(self) -> None:
        for name in LEFTOVERS - {".lock"}:
            path = self.folder / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _check_same(mine: Explanation, saved: Explanation, checkpoint: Path) -> None:
    differ = differences(mine["recipe"], saved["recipe"])
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
            _("Resume with the same data, model and recipe, or start anew in another folder."),
        )


def sha256_of(data: Path) -> str:
    """Of the file that is read: that of a snapshot folder is its dialogues.jsonl."""
    file = data / "dialogues.jsonl" if data.is_dir() else data
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def versions() -> dict[str, str]:
    return {"python": sys.version.split()[0], **{name: version(name) for name in PACKAGES}}


def commit() -> str:
    """The commit of this code, or "unknown" outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
