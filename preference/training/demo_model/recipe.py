"""What decides the weights of the demo model, and its learning rate."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides the weights, besides the corpus and the machine's arithmetic.

    tokens: to train on in all. vocabulary, hidden, layers, heads, intermediate: of the model. batch_tokens: padded
    tokens per optimiser step. peak_lr: of Muon and AdamW. warmup_tokens, decay_share: see `rate`.
    """

    tokens: int = 10_000_000
    seed: int = 1
    vocabulary: int = 5120
    hidden: int = 256
    layers: int = 6
    heads: int = 4
    intermediate: int = 512
    batch_tokens: int = 2048
    peak_lr: float = 4e-3
    warmup_tokens: int = 100_000
    # Chunks of the corpus with labels on everything; after them come mostly first replies.
    whole_text_chunks: int = 12
    decay_share: float = 0.35
    # The shipped logits are the trained ones times this: temperature 1 then draws fewer stray words.
    sharpness: float = 1.6
    weight_decay: float = 0.05
    # Texts written by hand are few and seen several times: without dropout the loss of validation soon rises.
    dropout: float = 0.0
    # The share of dialogues that were written by hand.
    written: float = 0.0
    # The share of rows whose first utterance loses some tokens.
    thinned: float = 0.0
    # Weight of a second task while training: to recognise the kind of an opening (see `Run.kind_loss`).
    kind_weight: float = 0.0


def rate(recipe: Recipe, tokens: int) -> float:
    """Learning rate after `tokens` tokens: linear warm-up, constant, then linear decay to 0.

    In tokens and not in steps, because a step has a varying number of them.

    rate = peak · min((tokens + batch) / warmup, (1 - tokens / total) / decay_share, 1)
    """
    warm = min(1.0, (tokens + recipe.batch_tokens) / recipe.warmup_tokens)
    left = max(0.0, 1 - tokens / recipe.tokens)
    return recipe.peak_lr * min(warm, left / recipe.decay_share, 1.0)
