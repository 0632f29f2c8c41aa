"""Class probabilities of dialogues from a network: batches of similar length, halved when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor

from measures.bootstrap import Floats
from preference.training.assessor.data import Turns
from preference.training.assessor.input_text import encode
from preference.training.assessor.network import Network
from preference.training.common.errors import TrainingError
from preference.training.common.memory import TokenBudget, is_out_of_memory
from preference.training.common.messages import gettext as _

BUDGET = TokenBudget(gpu=65_536, cpu=4096)


def pad(rows: Sequence[Sequence[int]], padding: int) -> tuple[Tensor, Tensor]:
    """Ids and their mask of 0 and 1, both (rows, longest), padded on the right."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), padding)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row)
        mask[place, : len(row)] = 1
    return ids, mask


def autocast(device: torch.device, *, bf16: bool) -> AbstractContextManager[object]:
    """Matrix products in bf16, if wanted; weights and sums stay in fp32."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if bf16 else nullcontext()


@torch.inference_mode()
def class_probabilities(
    network: Network,
    dialogues: Sequence[Turns],
    *,
    bf16: bool = False,
    check: Callable[[], None] = lambda: None,
) -> Floats:
    """p(class | dialogue), shape (dialogues, classes), in the order of the dialogues; a row of NaN for NaN logits.

    check: called before every batch; may raise to stop. Raises TrainingError if not even one dialogue fits into
    memory.
    """
    rows = encode(network.tokenizer, dialogues, network.max_length)
    probabilities = np.full((len(rows), len(network.task.classes)), np.nan)
    # The longest first, so that memory runs out at once or not at all.
    order = sorted(range(len(rows)), key=lambda place: -len(rows[place]))
    network.model.eval()
    budget = BUDGET.choose(None, network.device.type)
    while order:
        check()
        batch = order[: max(1, budget // len(rows[order[0]]))]
        try:
            probabilities[batch] = _batch_probabilities(network, [rows[place] for place in batch], bf16=bf16)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            budget = _halve(budget, len(batch), len(rows[order[0]]))
            continue
        order = order[len(batch) :]
    return probabilities


def _batch_probabilities(network: Network, rows: Sequence[Sequence[int]], *, bf16: bool) -> Floats:
    ids, mask = pad(rows, network.tokenizer.pad_token_id)
    with autocast(network.device, bf16=bf16):
        logits = network.model(
            input_ids=ids.to(network.device), attention_mask=mask.to(network.device)
        ).logits
    probabilities: Floats = logits.double().softmax(dim=-1).cpu().numpy()
    return probabilities


def _halve(budget: int, rows: int, length: int) -> int:
    """Half the tokens. Raises TrainingError if that would not make the batch smaller."""
    if rows == 1:
        raise TrainingError(
            _("Memory ran out with one dialogue of %(length)s tokens.") % {"length": length},
            _("Use a smaller model, or a shorter max_length."),
        )
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return min(budget, rows * length) // 2


def batches_of_similar_length(
    lengths: Sequence[int], size: int, generator: torch.Generator, *, window: int = 32
) -> Iterator[list[int]]:
    """The places of all rows in random batches of `size`; rows are sorted by length within `window` batches.

    Less of a batch is padding then. Sorting everything would put the same dialogues together in every epoch.
    """
    order = torch.randperm(len(lengths), generator=generator).tolist()
    batches: list[list[int]] = []
    for start in range(0, len(order), size * window):
        part = sorted(order[start : start + size * window], key=lambda place: lengths[place])
        batches += [part[first : first + size] for first in range(0, len(part), size)]
    for place in torch.randperm(len(batches), generator=generator).tolist():
        yield batches[place]
