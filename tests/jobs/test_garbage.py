"""When Python looks for garbage."""

import gc
from contextlib import suppress

from jobs.garbage import collecting_when_asked


def test_nobody_looks_for_garbage_meanwhile_and_everybody_does_afterwards() -> None:
    with suppress(ValueError), collecting_when_asked():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()


def test_what_was_off_before_stays_off() -> None:
    with collecting_when_asked():
        with collecting_when_asked():
            pass
        assert not gc.isenabled()
