"""The tokens of a vocabulary that have letters of other scripts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from generation.scripts import scripts_in


class ForeignTokens:
    """Looks at every token of the vocabulary once, when it is first asked.

    A token that is only a piece of a letter belongs to no script here; what comes of it is seen when the reply is read.
    ends: never foreign.
    """

    def __init__(self, tokenizer: Any, ends: frozenset[int]) -> None:
        self._tokenizer, self._ends = tokenizer, ends
        self._scripts: dict[int, frozenset[str]] = {}
        self._outside: dict[tuple[str, ...], Tensor] = {}

    def tokens_outside(self, scripts: tuple[str, ...]) -> Tensor | None:
        """The ids of tokens with letters of other scripts; None if all scripts are allowed."""
        if not scripts:
            return None
        if scripts not in self._outside:
            allowed = set(scripts)
            ids = [token for token, written in self._read().items() if not written <= allowed]
            self._outside[scripts] = torch.tensor(ids, dtype=torch.long)
        return self._outside[scripts]

    def _read(self) -> dict[int, frozenset[str]]:
        if not self._scripts:
            texts = {token: self._tokenizer.decode([token]) for token in range(len(self._tokenizer))}
            self._scripts = {
                token: scripts_in(text) for token, text in texts.items() if token not in self._ends
            }
        return self._scripts
