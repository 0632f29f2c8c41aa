"""Looking for garbage when it is due, not whenever many rows were made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def manual_garbage_collection() -> Iterator[None]:
    """Rows hold no cycles, and while many are alive every look for some walks over all: a fifth of
    an import, a quarter of an export.

    The caller asks for what else may hold some: gc.collect(1) now and then, or memory grows.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
