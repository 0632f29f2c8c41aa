"""What a training lets other hosts read in the object store: the files of its pages, and its model at the end.

Its checkpoints stay on its host: they are as large as several models, and only that host continues from them.
"""

import logging
import threading
import time
from pathlib import Path
from typing import Final

from common.refusals import Refusal
from common.storage.shared_files import Beat, shared_models
from preference.registry.copies import share
from preference.runs.files import FOR_PAGES

logger = logging.getLogger(__name__)

SEND_EVERY: Final = 20.0  # seconds; pages are so much behind
SEND_SECONDS: Final = 30.0  # at the end; less than makes a job count as lost
AGAIN_AFTER: Final = (5.0, 20.0, 60.0, 300.0)  # seconds; hours of training are worth waiting for a store


class PageFiles:
    """Sends the files that pages read, in a thread, so that a slow store does not hold up the job.

    What cannot be sent is not missed before the next time. Does nothing on one disk.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._begun = folder, time.monotonic()
        self._thread: threading.Thread | None = None

    def send_sometimes(self) -> None:
        if time.monotonic() - self._begun > SEND_EVERY:
            self._send()

    def send_last(self) -> None:
        deadline = time.monotonic() + SEND_SECONDS
        self._wait_until(deadline)
        self._send()
        self._wait_until(deadline)

    def _wait_until(self, deadline: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))

    def _send(self) -> None:
        if shared_models().is_remote and not (self._thread and self._thread.is_alive()):
            self._begun = time.monotonic()
            self._thread = threading.Thread(target=_publish, args=[self._folder], daemon=True)
            self._thread.start()


def _publish(folder: Path) -> None:
    for name in FOR_PAGES:
        try:
            if (folder / name).is_file():
                shared_models().publish(folder / name)
        except (Refusal, OSError):
            logger.warning("pages cannot show how far the training in %s is", folder, exc_info=True)
            return


def share_patiently(folder: Path, sha256: str, beat: Beat) -> None:
    """Share a trained model, which takes the store's coming back. Raises what `beat` raises, and Refusal at last."""
    for seconds in AGAIN_AFTER:
        try:
            return share(folder, sha256, beat)
        except Refusal as refusal:
            logger.warning("a trained model cannot be shared yet: %s", refusal)
        _wait(seconds, beat)
    return share(folder, sha256, beat)


def _wait(seconds: float, beat: Beat) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        beat(0)
        time.sleep(0.5)
