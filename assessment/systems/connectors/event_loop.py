"""One event loop for a process, in a thread of its own.

Workers of the queue `chat` are threads. The loop lets them share kept connections, and cancels exactly at a deadline
what would go on for ever: a server that sends a byte a second hangs as well.
"""

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine in the process's loop and wait for its result; raises its error."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="systems").start()
    return loop
