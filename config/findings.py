"""One finding of `manage.py doctor`."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    state: State
    what: str
    remedy: str = ""
