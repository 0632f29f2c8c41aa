"""What every process of ours does first: read the file .env, and say in one line which variable is wrong.

Before anything else reads os.environ: libraries and models read their own variables there, such as HF_TOKEN.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

from django.core.exceptions import ImproperlyConfigured
from dotenv import load_dotenv
from environs.exceptions import EnvError

ROOT: Final = Path(__file__).resolve().parent.parent
WRONG_SETTINGS: Final = (ImproperlyConfigured, EnvError)
ShowError = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def read_env_file(file: Path = ROOT / ".env") -> None:
    """Add the variables of the file to the environment. A variable that is set already keeps its value."""
    load_dotenv(file, override=False)


def name_wrong_settings(show: ShowError = sys.excepthook) -> None:
    """Let a process that ends with a wrong setting print one line instead of a traceback."""

    def show_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, WRONG_SETTINGS):
            sys.stderr.write(f"{error}\n")
        else:
            show(kind, error, trace)

    sys.excepthook = show_error
