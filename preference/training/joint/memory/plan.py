"""How much memory a training will take at its peak, before anything is loaded.

    weights                4 bytes each (fp32), frozen ones 2 (bf16) or about half a byte (4bit); a copy in bf16 for
                           each weight in fp32 that is computed with in bf16
    gradients, moments     4 + 8 bytes for each trained weight (Adam has two moments); DDP holds gradients twice
    activations            what the backward pass needs of every token of a micro-batch in every layer; with recompute
                           the input of every layer, and all of one layer
    logits                 of at most loss_chunk target tokens: themselves, their log-softmax, their gradient
    passing                gradients on their way through one layer, or Adam's own copies

The peak is at the beginning of a backward pass, or in Adam's step if micro-batches are small. What is needed of a token
is counted for SDPA from what PyTorch's autograd saves (`_numbers_saved`); docs/engineers/large-models.md says how near
that comes. Not in it: what PyTorch, CUDA and NCCL take for themselves (0.5 to 1 GB a process), and fragmentation.

This module loads no PyTorch, because a page asks it before every training.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from preference.training.joint.memory.sizes import ModelSizes
from preference.training.joint.recipe import JointRecipe

BUDGETS: Final = {"cuda": 16_384, "cpu": 1024}  # tokens of a micro-batch, unless the recipe says
# NF4: half a byte, and for every 64 weights a scale of one byte, with scales of their own.
FOUR_BIT_BYTES: Final = 0.5 + 1 / 64 + 4 / (64 * 256)
ROW_TOKENS: Final = 2048  # of a dense mask, at most
# Of the tokens of a dialogue tree: of three replies a turn one is learned.
LEARNED_SHARE: Final = 1 / 3
# A block of 96 queries multiplies with about 250 keys (see shared_context.attention), and holds a copy of these.
KEYS_OF_A_BLOCK: Final = 250 / 96


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes of one process at its peak. device: cpu or cuda. bf16: whether it computes in it.

    while_loading: of main memory, in each process, before the model moves to its GPU; 0 on a CPU, where it stays.
    """

    device: str
    processes: int
    bf16: bool
    tokens: int
    weights: int
    gradients: int
    moments: int
    activations: int
    logits: int
    passing: int
    while_loading: int
    total_weights: int
    trained_weights: int

    @property
    def peak(self) -> int:
        """Of one process, on its device."""
        kept = self.weights + self.gradients + self.moments
        return kept + max(self.activations + self.logits + self.passing, self._step)

    @property
    def _step(self) -> int:
        """What Adam's step takes beside what it changes: on a GPU a copy of what it changes."""
        return self.moments // 2 if self.device == "cuda" else 0

    @property
    def main_memory(self) -> int:
        """Of the machine, for all processes."""
        return self.processes * (self.peak if self.device == "cpu" else self.while_loading)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "peak": self.peak, "main_memory": self.main_memory}


def plan_memory(
    sizes: ModelSizes, recipe: JointRecipe, *, device: str, bf16: bool, processes: int = 1
) -> MemoryPlan:
    """device: cpu or cuda. bf16: whether the run computes in it; processes: of one machine, one for each GPU."""
    tokens = recipe.token_budget or BUDGETS[device]
    trained = sizes.adapter_weights(recipe.lora_rank) + sizes.hidden if recipe.lora_rank else sizes.weights
    held = _weight_bytes(sizes, recipe, bf16=bf16)
    shards = processes if recipe.sharding != "auto" else 1
    gathered = 0 if shards == 1 else (2 * 4 * sizes.linear_weights // sizes.layers + 4 * sizes.embeddings)
    gradients = 4 * trained // shards
    if processes > 1 and shards == 1:
        gradients *= 2
    saved = _bytes_saved(sizes, recipe, device=device, bf16=bf16)
    return MemoryPlan(
        device=device,
        processes=processes,
        bf16=bf16,
        tokens=tokens,
        weights=held // shards + gathered,
        gradients=gradients,
        moments=8 * trained // shards,
        activations=_activations(sizes, recipe, saved, tokens, device=device),
        logits=_logits(sizes, recipe, tokens, bf16=bf16),
        passing=_passing(sizes, recipe, tokens, bf16=bf16),
        while_loading=0 if device == "cpu" else _bytes_while_loading(sizes, recipe),
        total_weights=sizes.weights,
        trained_weights=trained,
    )


def _weight_bytes(sizes: ModelSizes, recipe: JointRecipe, *, bf16: bool) -> int:
    """Of all weights, adapters and copies among them."""
    adapters = 4 * sizes.adapter_weights(recipe.lora_rank) if recipe.lora_rank else 0
    others = sizes.weights - sizes.linear_weights
    if recipe.frozen_weights == "bf16":
        return adapters + 2 * sizes.weights
    if recipe.frozen_weights == "4bit":
        return adapters + 2 * others + int(FOUR_BIT_BYTES * sizes.linear_weights)
    copies = 0
    if bf16:
        # The backward pass of a recomputed layer needs the copies of that layer only, unless autocast keeps them all.
        layers = 1 if recipe.recompute and recipe.lora_rank else sizes.layers
        copies = 2 * (sizes.linear_weights * layers // sizes.layers + sizes.vocabulary * sizes.hidden)
    return adapters + 4 * sizes.weights + copies


def _bytes_while_loading(sizes: ModelSizes, recipe: JointRecipe) -> int:
    """A model is loaded on the CPU first; quantised weights go to the GPU one by one."""
    return {"fp32": 4, "bf16": 2, "4bit": 0}[recipe.frozen_weights] * sizes.weights


def _bytes_saved(sizes: ModelSizes, recipe: JointRecipe, *, device: str, bf16: bool) -> int:
    """What autograd keeps of a token in one layer until its backward pass."""
    trains_all = not recipe.lora_rank
    hidden, inner, queries, keys = sizes.hidden, sizes.inner, sizes.queries, sizes.keys
    # Two norms: the input, and, where their own weights are trained, the normalised input. Both in fp32.
    norms = 4 * 2 * hidden * (2 if trains_all else 1)
    if sizes.has_norms_on_heads:
        norms += 4 * (queries + keys) * (2 if trains_all else 1)
    width = 2 if bf16 else 4
    # Inputs of the linear layers: in fp32 those of one norm are one tensor, in bf16 each has a copy of its own.
    inputs = width * hidden * ((5 if sizes.is_gated else 2) if bf16 else 2)
    # SDPA: queries, keys and values, its result, and a contiguous copy of the result for the next layer. In blocks,
    # each has its own keys; a dense mask on a GPU takes a copy of the keys for every head.
    attention = width * (3 * queries + int(2 * (KEYS_OF_A_BLOCK * keys if device == "cpu" else queries)))
    # gate, silu(gate), up, and their product; or the input of GELU, three steps of it, and its result.
    feed_forward = width * inner * (4 if sizes.is_gated else 5)
    if bf16 and recipe.lora_rank:
        attention += width * queries
        feed_forward += width * inner
    return norms + inputs + attention + feed_forward


def _activations(sizes: ModelSizes, recipe: JointRecipe, saved: int, tokens: int, *, device: str) -> int:
    mask = 5 * tokens * min(tokens, ROW_TOKENS) if device == "cuda" else 0
    if recipe.recompute:
        return tokens * (4 * sizes.hidden * sizes.layers + saved) + mask
    return tokens * saved * sizes.layers + mask


def _logits(sizes: ModelSizes, recipe: JointRecipe, tokens: int, *, bf16: bool) -> int:
    # In fp32 themselves, their log-softmax and its gradient; in bf16 what the output layer gave, and gets back.
    return min(recipe.loss_chunk, _learned(tokens)) * sizes.vocabulary * (4 * 3 + (2 * 2 if bf16 else 0))


def _learned(tokens: int) -> int:
    """Target tokens of a micro-batch, about."""
    return int(LEARNED_SHARE * tokens)


def _passing(sizes: ModelSizes, recipe: JointRecipe, tokens: int, *, bf16: bool) -> int:
    """Gradients that are neither of weights that have theirs already, nor of logits."""
    width = 2 if bf16 else 4
    through_a_layer = tokens * width * (2 * sizes.inner + 2 * sizes.hidden)
    # The output layer's own gradient before it is added to others; that of a chunk is first added to the last one's.
    buffers = 2 if _learned(tokens) > recipe.loss_chunk else 1
    output_layer = 0 if recipe.lora_rank else buffers * 4 * sizes.vocabulary * sizes.hidden
    return max(through_a_layer if recipe.recompute else 0, output_layer)
