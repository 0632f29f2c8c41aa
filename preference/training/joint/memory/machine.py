"""What this machine has for a training: its GPUs, as nvidia-smi lists them, and its main memory.

This module loads no PyTorch.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import psutil

MEBIBYTE = 1 << 20
ASK = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
ASK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class GPU:
    """memory: in bytes, free or not."""

    name: str
    memory: int


@dataclass(frozen=True, slots=True)
class Machine:
    """main_memory: in bytes, what is available now. gpus: the visible ones."""

    main_memory: int
    gpus: tuple[GPU, ...]

    @property
    def device(self) -> str:
        """Where a training computes by default: cpu or cuda."""
        return "cuda" if self.gpus else "cpu"


def this_machine() -> Machine:
    return Machine(psutil.virtual_memory().available, visible_gpus())


@lru_cache(maxsize=1)
def visible_gpus() -> tuple[GPU, ...]:
    """Those that CUDA_VISIBLE_DEVICES names, all without it; () without nvidia-smi. Asked once: they do not change.

    CUDA ignores what follows the first name that it does not know, such as -1.
    """
    try:
        answer = subprocess.run(ASK, capture_output=True, text=True, timeout=ASK_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    found = [gpu for line in answer.stdout.splitlines() if (gpu := _gpu(line))]
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return tuple(found)
    words = [word.strip() for word in named.split(",")]
    if words[0][:3] in ("GPU", "MIG"):
        return tuple(found[: len(words)])  # by UUID, which nvidia-smi was not asked for
    known = takewhile(lambda word: word.isdecimal() and int(word) < len(found), words)
    return tuple(found[int(word)] for word in known)


def _gpu(line: str) -> GPU | None:
    """None for one that names no memory, because it shares the main memory."""
    name, _comma, memory = (part.strip() for part in line.rpartition(","))
    return GPU(name, int(memory) * MEBIBYTE) if memory.isdecimal() else None
