"""When Python looks for garbage."""

import gc
from contextlib import suppress

from jobs.garbage_collection import manual_garbage_collection


def test_nobody_looks_for_garbage_meanwhile_and_everybody_does_afterwards() -> None:
    with suppress(ValueError), manual_garbage_collection():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()


def test_nested_contexts_leave_it_off() -> None:
    with manual_garbage_collection():
        with manual_garbage_collection():
            pass
        assert not gc.isenabled()
