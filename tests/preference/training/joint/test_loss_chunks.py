"""The generation loss in chunks: the same numbers, and never the logits of more tokens than a chunk has."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from preference.training.joint.loss import token_losses, token_losses_in_chunks

TOKENS, HIDDEN, VOCABULARY = 50, 16, 300


class CountingLayer(nn.Linear):
    """An output layer that notes how many tokens it is asked for at once."""

    def forward(self, hidden: Tensor) -> Tensor:
        asked.append(len(hidden))
        return super().forward(hidden)


asked: list[int] = []


@pytest.mark.parametrize("chunk", [1, 7, 49, 50, 1000])
def test_losses_and_gradients_are_those_of_all_logits(chunk: int) -> None:
    torch.manual_seed(chunk)
    layer = CountingLayer(HIDDEN, VOCABULARY, bias=False)
    hidden = torch.randn(TOKENS, HIDDEN, requires_grad=True)
    targets = torch.randint(VOCABULARY, (TOKENS,))
    share = torch.rand(TOKENS)  # a weight of its own for each loss
    expected = token_losses(layer(hidden), targets)
    wanted = torch.autograd.grad((share * expected).sum(), (hidden, layer.weight))

    asked.clear()
    losses = token_losses_in_chunks(layer, hidden, targets, chunk)
    gradients = torch.autograd.grad((share * losses).sum(), (hidden, layer.weight))
    torch.testing.assert_close(losses, expected, atol=1e-5, rtol=0)
    for gradient, exact in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(gradient, exact, atol=1e-5, rtol=0)
    assert max(asked) == min(chunk, TOKENS)
    assert sum(asked) == TOKENS * (1 if chunk >= TOKENS else 2)  # computed again in the backward pass


def test_a_micro_batch_without_targets_has_no_losses() -> None:
    layer = nn.Linear(HIDDEN, VOCABULARY)
    hidden = torch.randn(0, HIDDEN, requires_grad=True)
    losses = token_losses_in_chunks(layer, hidden, torch.empty(0, dtype=torch.long), 4)
    assert losses.shape == (0,)
    torch.autograd.backward(losses.sum())
    assert hidden.grad is not None
