"""A memory plan beside what the machine has.

This module loads no PyTorch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.joint.memory.machine import Machine, this_machine
from preference.training.joint.memory.plan import MemoryPlan, plan_memory
from preference.training.joint.memory.sizes import sizes_of
from preference.training.joint.recipe import JointRecipe

# Of a process, beside the plan: PyTorch and its libraries; on a GPU the context of CUDA.
OWN: Final = 768 << 20


@dataclass(frozen=True, slots=True)
class Assessment:
    """available: bytes for each process, of a GPU or of main memory; 0 if there are fewer GPUs than processes."""

    plan: MemoryPlan
    machine: Machine
    available: int

    @property
    def own(self) -> int:
        """Bytes that PyTorch takes for itself in each process, about."""
        return OWN

    @property
    def needed(self) -> int:
        """Bytes of each process, PyTorch's own included."""
        return self.plan.peak + self.own

    @property
    def fits(self) -> bool:
        return self.needed <= self.available and self.loads

    @property
    def loads(self) -> bool:
        """Whether main memory holds what all processes load before it moves to the GPUs."""
        return self.plan.main_memory <= self.machine.main_memory


def assess(
    source: str,
    recipe: JointRecipe,
    *,
    processes: int | None = None,
    device: str | None = None,
    may_download: bool = False,
) -> Assessment:
    """Plan a training of the model at `source` and compare it with this machine.

    source: folder or hub id. processes: None for the default. device: cpu or cuda, None: cuda if there is a GPU.
    may_download: whether config.json may come from a hub; otherwise one that was downloaded before is read. Raises
    TrainingError if there is no config.json, or it is of an unknown architecture.
    """
    machine = this_machine()
    chosen = device or machine.device
    count = processes or (max(1, len(machine.gpus)) if chosen == "cuda" else 1)
    sizes = sizes_of(read_config(source, may_download=may_download))
    bf16 = recipe.precision == "bf16" or (recipe.precision == "auto" and chosen == "cuda")
    plan = plan_memory(sizes, recipe, device=chosen, bf16=bf16, processes=count)
    return Assessment(plan, machine, _available(machine, chosen, count))


def _available(machine: Machine, device: str, processes: int) -> int:
    if device == "cpu":
        return machine.main_memory // processes
    used = machine.gpus[:processes]
    return min(gpu.memory for gpu in used) if used and len(used) == processes else 0


def read_config(source: str, *, may_download: bool) -> Mapping[str, Any]:
    """config.json of a folder or hub id. Raises TrainingError without one."""
    folder = Path(source).expanduser()
    path = folder / "config.json"
    if not folder.is_dir() and not folder.is_absolute():
        path = _cached(source, may_download=may_download) or path
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(
            _("The config.json of %(model)s cannot be read here.") % {"model": source},
            _("Download the model, or name a complete folder."),
        ) from error
    return found if isinstance(found, dict) else {}


def _cached(name: str, *, may_download: bool) -> Path | None:
    """The file in the cache of the hub's own library; None if it is not there."""
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    offline = not may_download or os.environ.get("HF_HUB_OFFLINE") == "1"
    try:
        return Path(hf_hub_download(name, "config.json", local_files_only=offline))
    except (HFValidationError, LocalEntryNotFoundError, HfHubHTTPError, OSError):
        return None
