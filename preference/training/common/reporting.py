"""What commands that score and report have in common: progress on a terminal, failures as cause and remedy."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _


def exit_status(options: argparse.Namespace, run: Callable[[argparse.Namespace], None]) -> int:
    """Run a command; returns its exit status. On failure the last two lines on stderr are cause and remedy."""
    try:
        run(options)
    except TrainingError as error:
        print(f"{error.cause}\n{error.remedy}", file=sys.stderr)
        return 1
    except Exception as error:
        traceback.print_exc()
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"{cause}\n{_('See the log above.')}", file=sys.stderr)
        return 1
    return 0


def show_progress(done: int, total: int) -> None:
    """Rewrite one line of the terminal; silent in a log, where it would be thousands of lines."""
    if sys.stderr.isatty():
        print(f"\r{done} / {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def write_text(file: Path, text: str) -> None:
    """Write a file with its folder. Raises TrainingError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TrainingError(
            _("%(file)s cannot be written: %(reason)s.") % {"file": file, "reason": error.strerror},
            _("Name another file with --output."),
        ) from error
