"""What several processes of a run share, through accelerate: gradients only, or also weights and Adam's moments.

This module loads no PyTorch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

AUTO, FSDP, DEEPSPEED = "auto", "fsdp", "deepspeed"
SHARDING = (AUTO, FSDP, DEEPSPEED)

# What `accelerate launch` would set. Layers are gathered one by one, for their forward and backward pass.
ENVIRONMENT: Final[Mapping[str, Mapping[str, str]]] = {
    FSDP: {
        "ACCELERATE_USE_FSDP": "true",
        "FSDP_VERSION": "2",
        "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
        "FSDP_STATE_DICT_TYPE": "SHARDED_STATE_DICT",
        "FSDP_RESHARD_AFTER_FORWARD": "true",
    },
    DEEPSPEED: {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_ZERO_STAGE": "3"},
}


def sharding_environment(sharding: str, device: str) -> Mapping[str, str]:
    """The variables that accelerate reads; {} for auto, which leaves them to the launcher, and for a single process.

    device: cpu or cuda. Raises TrainingError if the weights cannot be spread here.
    """
    if sharding == AUTO or os.environ.get("WORLD_SIZE", "1") == "1":
        return {}
    if device == "cpu":
        raise TrainingError(
            _("sharding is %(name)s, which spreads weights over GPUs, but the run computes on the CPU.")
            % {"name": sharding},
            _("Set sharding to auto."),
        )
    if sharding == DEEPSPEED and find_spec("deepspeed") is None:
        raise TrainingError(
            _("sharding is deepspeed, but the package deepspeed is not installed."),
            _("Install it (pip install deepspeed), or set sharding to fsdp."),
        )
    return ENVIRONMENT[sharding]
