"""How well a reply would please people: a linear preference head, read at the reply's end-of-utterance token.

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
    """weight: (1, hidden), bias: (1,), both float32; end: the token at which a reply is scored."""

    weight: Tensor
    bias: Tensor
    end: int

    def scores(self, states: Tensor) -> list[float]:
        """states: the model's last hidden states at the ends of replies, (replies, hidden)."""
        found: list[float] = (states.float() @ self.weight[0] + self.bias).tolist()
        return found


def read_head(folder: Path, *, hidden: int, end: int, device: torch.device) -> PreferenceHead | None:
    """The head in a model's folder; None if missing. Raises BackendError if it does not fit the model."""
    path = folder / HEAD_FILE
    if not path.exists():
        return None
    try:
        found = load_file(path)
    except Exception as error:  # a cut file, a file of another kind, one that may not be read
        raise BackendError(f"The preference head {path} cannot be read: {error}", AGAIN) from error
    if set(found) != {"weight", "bias"}:
        raise BackendError(
            f"The preference head {path} holds {', '.join(sorted(found)) or 'nothing'}, not weight and bias.",
            AGAIN,
        )
    if found["weight"].shape != (1, hidden) or found["bias"].shape != (1,):
        raise BackendError(
            f"The preference head {path} reads {found['weight'].shape[-1]} numbers, and the model gives {hidden}.",
            AGAIN,
        )
    if not all(tensor.isfinite().all() for tensor in found.values()):
        raise BackendError(f"The preference head {path} holds numbers that are none (NaN).", AGAIN)
    return PreferenceHead(found["weight"].float().to(device), found["bias"].float().to(device), end)


AGAIN = (
    "Copy the whole folder again from where it was trained, or delete that file: then replies have no scores."
)
