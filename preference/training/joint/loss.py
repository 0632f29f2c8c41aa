"""The two losses of generation-evaluation joint training, and their sum (Diamante, section 3, equations 1 to 3).

A quadruple is (context c, human reply h, model reply m, random reply r). With the score s of a reply, the preference
loss asks that people's replies rank above displayed candidates, and these above replies of other dialogues:

    L_PE  = -1/3 · [ log σ(s_h - s_m) + log σ(s_h - s_r) + log σ(s_m - s_r) ]

The generation loss is the mean negative log-likelihood of the human reply's tokens (only of the human reply):

    L_NLL = -1/|h| · Σ_t log p(h_t | c, h_<t)

    L     = L_NLL + L_PE

A recipe may weight the two losses (nll_weight, ranking_weight); the paper adds them as they are.

An optimiser step holds several quadruples, divided into micro-batches and over processes. Each micro-batch computes
its share of the step's means: it sums over its own tokens and pairs, and divides by the totals of the whole step. The
shares add up to the loss of the step, so that neither the size of micro-batches nor the number of processes changes
the gradient. L_NLL is thus a mean over all target tokens of the step, L_PE one over all its quadruples.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid
from torch.utils.checkpoint import checkpoint

HUMAN, MODEL, RANDOM = range(3)
# (better, worse): the three terms of L_PE.
RANKED_PAIRS = ((HUMAN, MODEL), (HUMAN, RANDOM), (MODEL, RANDOM))


def preference_loss(scores: Tensor, pairs: Tensor, pairs_in_step: Tensor) -> Tensor:
    """A micro-batch's share of L_PE, in nats; a scalar.

    scores: (K,) of the replies of the micro-batch. pairs: (P, 2) indices into scores, the better and the worse reply;
    three per quadruple. pairs_in_step: scalar, pairs of the whole optimiser step; dividing by it averages over the
    three terms and the quadruples at once.

    A pair of equal scores costs log 2 = 0.693, which is about where a new head starts. With respect to the better score
    the gradient of a pair is -σ(worse - better): close to -1 in the wrong order, close to 0 once the order is clear.
    """
    better, worse = scores[pairs].unbind(1)
    return -logsigmoid(better - worse).sum() / pairs_in_step.clamp(min=1)


def token_losses(logits: Tensor, targets: Tensor) -> Tensor:
    """-log p of every target token, in nats; shape (N,), in fp32.

    logits: (N, vocabulary), at the positions that predict. targets: (N,) token ids.
    """
    return cross_entropy(logits.float(), targets, reduction="none")


def token_losses_in_chunks(
    output_layer: Callable[[Tensor], Tensor], hidden: Tensor, targets: Tensor, chunk: int
) -> Tensor:
    """token_losses of output_layer(hidden), (N,), holding logits of at most `chunk` tokens at a time.

    output_layer: hidden states (N, hidden) → logits (N, vocabulary). hidden: where the targets are predicted.

    With a vocabulary of 150,000, logits of 4,000 tokens, their log-softmax and their gradient take 7.2 GB in fp32. The
    forward pass therefore keeps no logits of a chunk, only its losses; the backward pass computes them again (Chen et
    al., 2016), at the price of a third more work in the output layer. Up to `chunk` tokens nothing is computed twice.
    """
    if len(targets) <= chunk:
        return token_losses(output_layer(hidden), targets)

    def losses(some_hidden: Tensor, some_targets: Tensor) -> Tensor:
        return token_losses(output_layer(some_hidden), some_targets)

    parts = zip(torch.split(hidden, chunk), torch.split(targets, chunk), strict=True)
    return torch.cat(
        # The output layer draws no random numbers, so their state need not be kept.
        [checkpoint(losses, *part, use_reentrant=False, preserve_rng_state=False) for part in parts]
    )


def generation_loss(token_nll: Tensor, tokens_in_step: Tensor) -> Tensor:
    """A micro-batch's share of L_NLL, in nats per token; a scalar.

    token_nll: (N,) as token_losses gives it. tokens_in_step: scalar, target tokens of the whole optimiser step.
    """
    return token_nll.sum() / tokens_in_step.clamp(min=1)
