"""A select box above a list of dialogues."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise


@dataclass(frozen=True, slots=True)
class Filter:
    """every: the label of no choice."""

    name: str
    label: str | Promise
    every: str | Promise
    choices: Sequence[tuple[str, Any]]
