"""All threads of a process share one event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from assessment.systems.connectors import event_loop

THREADS = 32


def test_threads_that_come_first_together_share_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "_loops", [])
    barrier = Barrier(THREADS)

    async def running_loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    def ask(_n: int) -> asyncio.AbstractEventLoop:
        barrier.wait()
        return event_loop.run_in_loop(running_loop())

    with ThreadPoolExecutor(THREADS) as pool:
        loops = set(pool.map(ask, range(THREADS)))
    assert len(loops) == 1
    loops.pop().call_soon_threadsafe(event_loop._loops[0].stop)
