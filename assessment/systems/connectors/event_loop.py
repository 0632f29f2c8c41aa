"""One event loop for a process, in a thread of its own.

Workers of the queue `chat` are threads. The loop lets them share kept connections, and cancels exactly at a deadline
what would go on for ever: a server that sends a byte a second hangs as well.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_starting = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine in the process's loop and wait for its result; raises its error."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


def _loop() -> asyncio.AbstractEventLoop:
    with _starting:  # of threads that come first together, one starts the loop
        if not _loops:
            _loops.append(asyncio.new_event_loop())
            threading.Thread(target=_loops[0].run_forever, daemon=True, name="systems").start()
        return _loops[0]
