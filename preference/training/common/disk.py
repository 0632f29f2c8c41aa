"""Reporting that a file cannot be written, mostly because the disk is full."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

# What torch, safetensors and the system raise when a file cannot be written.
WRITE_ERRORS = (OSError, SafetensorError, RuntimeError)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def report_unwritable(file: Path, *, errors: tuple[type[Exception], ...] = (OSError,)) -> Iterator[None]:
    """Raise TrainingError if the file cannot be written. errors: what the writing raises, WRITE_ERRORS for weights."""
    try:
        yield
    except errors as error:
        reason = getattr(error, "strerror", None) or write_failure_reason(error)
        raise TrainingError(
            _("%(file)s cannot be written: %(reason)s.") % {"file": file, "reason": reason},
            _("Free some disk space, then continue with --resume."),
        ) from error


def write_failure_reason(error: BaseException) -> str:
    """Why a file could not be written, in the system's words: torch and safetensors wrap or hide them."""
    if isinstance(error, OSError) and error.errno in FULL:
        return os.strerror(error.errno)
    text = str(error)
    known = next((os.strerror(number) for number in FULL if os.strerror(number) in text), "")
    # torch's writer names no cause; an incomplete write means a full disk.
    incomplete = "PytorchStreamWriter" in text or "unexpected pos" in text or "file write failed" in text
    return known or (os.strerror(errno.ENOSPC) if incomplete else text.strip().split("\n", 1)[0])
