"""The preference score of a reply: a linear head, read at its end-of-utterance token.

Joint training (Diamante §3.2) saves it beside the weights of a model; see `preference/training/joint/joint_model.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from generation.protocol import BackendError

HEAD_FILE = "preference_head.safetensors"


@dataclass(frozen=True, slots=True)
class PreferenceHead:
    """weight: (1, hidden), bias: (1,), both float32. end: the token at which a reply is scored."""

    weight: Tensor
    bias: Tensor
    end: int

    def scores(self, states: Tensor) -> list[float]:
        """One score per reply. states: the last hidden states at the ends of replies, (replies, hidden)."""
        values: list[float] = (states.float() @ self.weight[0] + self.bias).tolist()
        return values


def read_head(folder: Path, *, hidden: int, end: int, device: torch.device) -> PreferenceHead | None:
    """The head in a model's folder; None if missing. Raises BackendError if it does not fit the model."""
    path = folder / HEAD_FILE
    if not path.exists():
        return None
    try:
        tensors = load_file(path)
    except Exception as error:  # truncated, of another format, or unreadable
        raise BackendError(f"The preference head {path} cannot be read: {error}", AGAIN) from error
    if set(tensors) != {"weight", "bias"}:
        raise BackendError(
            f"The preference head {path} holds {', '.join(sorted(tensors)) or 'nothing'}, not weight and bias.",
            AGAIN,
        )
    if tensors["weight"].shape != (1, hidden) or tensors["bias"].shape != (1,):
        raise BackendError(
            f"The preference head {path} takes {tensors['weight'].shape[-1]} numbers, but the model gives {hidden}.",
            AGAIN,
        )
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise BackendError(f"The preference head {path} holds values that are not numbers (NaN).", AGAIN)
    return PreferenceHead(tensors["weight"].float().to(device), tensors["bias"].float().to(device), end)


AGAIN = (
    "Copy the whole folder again from where it was trained, or delete that file: then replies have no scores."
)
