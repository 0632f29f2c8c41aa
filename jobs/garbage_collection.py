"""Collect garbage at chosen times instead of after every few hundred allocations."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def manual_garbage_collection() -> Iterator[None]:
    """Turn off automatic garbage collection: it took a fifth of an import and a quarter of an export.

    Rows have no reference cycles, but with many rows alive every collection visits all of them. The caller must call
    gc.collect(1) now and then for other cycles, or memory grows.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
