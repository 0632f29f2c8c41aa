"""The training command under FSDP in processes on a CPU; accelerate shards on accelerators only, but gloo can, too.

torchrun --nproc-per-node 2 -m tests.preference.training.sharded --data …
"""

from __future__ import annotations

import os
from typing import Any

from accelerate.state import AcceleratorState  # type: ignore[import-untyped]
from accelerate.utils import DistributedType  # type: ignore[import-untyped]

# As `accelerate launch` would set them.
ASKED = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_STATE_DICT_TYPE": "SHARDED_STATE_DICT",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "true",
}


def shard_on_a_cpu() -> None:
    begin = AcceleratorState.__init__

    def begin_sharded(self: Any, *args: Any, **named: Any) -> None:
        begin(self, *args, **named)
        plugin = named.get("fsdp_plugin") or vars(self).get("fsdp_plugin")
        if plugin is not None:
            self.distributed_type, self.fsdp_plugin = DistributedType.FSDP, plugin

    AcceleratorState.__init__ = begin_sharded


if __name__ == "__main__":
    os.environ.update(ASKED)
    shard_on_a_cpu()
    from preference.training.common.command import exit_process
    from preference.training.joint.command import main

    exit_process(main())
