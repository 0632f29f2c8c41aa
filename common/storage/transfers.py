"""A transfer beside the caller, who hears how far it is and can stop it."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final

from common.storage.shared_files import Beat, no_beat

LISTEN_EVERY: Final = 0.25  # seconds


class _TransferStopped(Exception):
    """Raised inside the threads of a transfer that nobody wants any more."""


class _Counter:
    """Bytes that moved in any thread since the last look."""

    def __init__(self) -> None:
        self.stopped = False
        self._lock, self._bytes = threading.Lock(), 0

    def add(self, count: int) -> None:
        if self.stopped:
            raise _TransferStopped
        with self._lock:
            self._bytes += count

    def take(self) -> int:
        with self._lock:
            taken, self._bytes = self._bytes, 0
        return taken


def run_transfer(work: Callable[[Beat], None], beat: Beat) -> None:
    """Run `work` with a callback that counts bytes, and call `beat` with them meanwhile, also while none move.

    boto3 calls back from threads of its own, and `beat` writes to the database, so `beat` runs in the caller's thread.
    If it raises, the transfer stops and the exception goes on.
    """
    if beat == no_beat:
        work(no_beat)
        return
    counter = _Counter()
    with ThreadPoolExecutor(1) as pool:
        transfer = pool.submit(work, counter.add)
        try:
            while not wait([transfer], LISTEN_EVERY).done:
                beat(counter.take())
        except BaseException:
            counter.stopped = True
            raise
    beat(counter.take())
    transfer.result()
