"""From the pairs of an optimiser step to its micro-batches.

    pairs → prompts with their label → trees (rows) → micro-batches → tensors of LabelModel.forward

PairEval asks one question about a pair: which of the two is better? DirectEval asks one about each of its replies: is
this one good? Both see the same texts in the same steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from preference.training.common.shared_context.filling import (
    ROW_TOKENS,
    RowGroup,
    fill_rows,
    group_by_budget,
)
from preference.training.common.shared_context.rows import MicroBatch, Row, Tokens, collate, index_pairs
from preference.training.common.shared_context.trees import branches, cut, plain_row, tree
from preference.training.paireval.encoding import EncodedPrompt, PromptEncoder
from preference.training.paireval.pairs import Pair
from preference.training.paireval.prompts import DIRECT, Conversation

FIRST, SECOND = 0, 1  # the label " A" or " Yes", and the label " B" or " No"


@dataclass(frozen=True, slots=True)
class LabelledPrompt:
    """label: the token that answers it."""

    tokens: Tokens
    label: int


class PromptBatching:
    """Makes micro-batches of a token budget, padding included; prompts share what they begin with if `share`."""

    def __init__(self, encoder: PromptEncoder, *, pad: int, token_budget: int, share: bool) -> None:
        self._encoder, self._pad, self._budget, self._share = encoder, pad, token_budget, share

    def micro_batches(self, step: Sequence[Pair]) -> list[MicroBatch]:
        """Arguments of LabelModel.forward for one optimiser step, the longest rows first."""
        prompts = [prompt for pair in step for prompt in label_prompts(pair, self._encoder)]
        labels: dict[Tokens, list[int]] = {}  # two dialogues may contain the same pair
        for prompt in prompts:
            labels.setdefault(prompt.tokens, []).append(prompt.label)
        total = torch.tensor(len(prompts))
        return [self._collate(rows, labels) | {"answers_in_step": total} for rows in self._rows(list(labels))]

    def _rows(self, texts: Sequence[Tokens]) -> Iterator[list[Row]]:
        """The rows of each micro-batch."""
        ordered = branches(texts)
        if self._share:
            runs = cut(ordered, min(self._budget, ROW_TOKENS))
            groups = fill_rows([RowGroup([tree(run)]) for run in runs], min(self._budget, ROW_TOKENS))
        else:
            groups = [RowGroup([plain_row(branch)]) for branch in ordered]
        for batch in group_by_budget(groups, self._budget):
            yield [row for group in batch for row in group.rows]

    def _collate(self, rows: Sequence[Row], labels: dict[Tokens, list[int]]) -> MicroBatch:
        collated = collate(rows, self._pad)
        answers = [
            (place, label)
            for place, name in zip(collated.ends.tolist(), collated.names, strict=True)
            for label in labels[name]  # type: ignore[index]
        ]
        return collated.inputs | {
            "answer_at": index_pairs([(row, column) for (row, column), _label in answers]),
            "labels": torch.tensor([label for _place, label in answers]),
        }


def label_prompts(pair: Pair, encoder: PromptEncoder) -> list[LabelledPrompt]:
    """The prompts about a pair, each with its right answer; the oldest utterances are dropped until they fit."""
    prompts = encoder.encode(_conversations(pair, pair.history, encoder))
    dropped = 0
    while not encoder.fits(prompts) and dropped < len(pair.history):
        dropped += 1
        prompts = encoder.encode(_conversations(pair, pair.history[dropped:], encoder))
    return [_labelled(prompt, side) for prompt, side in zip(prompts, _sides(pair, encoder), strict=True)]


def _conversations(
    pair: Pair, history: tuple[str, ...], encoder: PromptEncoder
) -> list[tuple[Conversation, ...]]:
    replies = (pair.positive, pair.negative) if pair.positive_first else (pair.negative, pair.positive)
    both = tuple(Conversation(history, reply, pair.knowledge) for reply in replies)
    return [(one,) for one in both] if encoder.question is DIRECT else [both]


def _sides(pair: Pair, encoder: PromptEncoder) -> list[int]:
    """FIRST or SECOND for each prompt of a pair."""
    if encoder.question is DIRECT:
        return [FIRST, SECOND] if pair.positive_first else [SECOND, FIRST]
    return [FIRST if pair.positive_first else SECOND]


def _labelled(prompt: EncodedPrompt, side: int) -> LabelledPrompt:
    return LabelledPrompt(prompt.tokens, prompt.labels[side])
