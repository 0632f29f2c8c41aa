"""Reading the probabilities of label tokens at the ends of many prompts, with as few tokens fed as the prompts allow.

    prompts → branches beyond the stem → trees (rows) → batches of a token budget → logits at the ends → probabilities

One reply r with history h against three examples (h₁ r₁) … (h₃ r₃) is six prompts, in two kinds of tree:

    stem            row                                       stem (encoded once a run)   row
    instruction ─── h r ─┬─ h₁ r₁ question                    instruction ─┬─ h₁ r₁ ───── h r question
                         ├─ h₂ r₂ question                                 ├─ h₂ r₂ ───── h r question
                         └─ h₃ r₃ question                                 └─ h₃ r₃ ───── h r question

Seven candidates of one turn share h as well. Softmax is over the whole vocabulary (PairEval, section 3.2), but only at
the ends: (prompts, vocabulary) logits instead of one for each token that is fed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from preference.training.common.memory import TokenBudget, is_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.shared_context.attention import attend_in_blocks
from preference.training.common.shared_context.filling import RowGroup, group_by_budget
from preference.training.common.shared_context.forward import (
    hidden_and_logits,
    logits_are_linear_in_hidden,
    model_inputs,
)
from preference.training.common.shared_context.probe import (
    can_stand_on_stem,
    unfit_layer,
    why_not_shared,
)
from preference.training.common.shared_context.rows import Row, Tokens, collate
from preference.training.common.shared_context.stem import Stem
from preference.training.common.shared_context.trees import Branch, branches, cut, plain_row, tree
from preference.training.paireval.encoding import EncodedPrompt

BUDGET = TokenBudget(gpu=16_384, cpu=4096)
LEAST_BUDGET = 256  # it is not halved further for good, only a batch that fails is
# Tokens up to which a tree grows: what is shared between rows is fed again, and masks grow with the square.
ROW_TOKENS = 4096
SHORTEST_PROMPT = 64  # tokens, about: the question alone
Run = list[Branch]  # becomes one row


@dataclass(frozen=True, slots=True)
class Answer:
    """probabilities: of the first and the second label, over the whole vocabulary; None with a reason."""

    probabilities: tuple[float, float] | None
    reason: str = ""


class PromptReader:
    """Runs a causal language model on prompts.

    notes: why prompts do not share what they begin with, in sentences. tokens_fed: of all forward passes, padding
    included.
    """

    def __init__(
        self,
        backbone: Any,
        *,
        pad: int,
        beginnings: Sequence[Tokens] = (),
        token_budget: int | None = None,
        share: bool = True,
    ) -> None:
        """beginnings: of many prompts; a prompt need not begin with any. pad: token id of the padding.

        token_budget: tokens of a forward pass, halved when memory runs out. share: False encodes every prompt whole.
        """
        self._backbone, self._pad = backbone, pad
        self._budget = BUDGET.choose(token_budget, backbone.device.type)
        self.notes: list[str] = []
        self.tokens_fed = 0
        attend_in_blocks(backbone)
        self._logits_are_linear = logits_are_linear_in_hidden(backbone)
        self._shares = share and self._can_share()
        self._stem = self._encode_stem(beginnings) if self._shares else None
        if self._stem:
            self.tokens_fed = self._stem.row.tokens

    def _can_share(self) -> bool:
        reason = why_not_shared(self._backbone, longest=SHORTEST_PROMPT)
        if reason:
            self._note_plain(reason)
        return not reason

    def _note_plain(self, reason: str) -> None:
        template = _(
            "Every prompt is encoded whole, which is slower: the model cannot share contexts, because %(reason)s."
        )
        if (note := template % {"reason": reason}) not in self.notes:
            self.notes.append(note)

    def _encode_stem(self, beginnings: Sequence[Tokens]) -> Stem | None:
        """The stem of all beginnings; None without beginnings, or if the model or its memory does not allow it."""
        if not any(beginnings) or not can_stand_on_stem(self._backbone):
            return None
        stem = Stem(beginnings)
        try:
            stem.encode(self._backbone)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return None
        return stem

    def read(self, prompts: Sequence[EncodedPrompt]) -> list[Answer]:
        """The answer to every prompt, in their order; prompts that are equal are computed once."""
        labels = sorted({label for prompt in prompts for label in prompt.labels})
        found: dict[Tokens, list[float]] = {}
        failed: dict[Tokens, str] = {}
        waiting = list(self._batches({prompt.tokens for prompt in prompts}))
        while waiting:
            batch = waiting.pop(0)
            try:
                found |= self._run(batch, labels)
                continue
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            # Outside the handler, because the traceback keeps the tensors of the failed attempt alive.
            halves = self._halve(batch)
            waiting[:0] = halves
            if not halves:
                failed[batch[0][0].text] = _("Memory ran out, with this prompt alone.")
        return [_answer(prompt, labels, found, failed) for prompt in prompts]

    def _batches(self, texts: set[Tokens]) -> Iterator[list[Run]]:
        """Batches of runs, the longest first; a run is one prompt if the model cannot share."""
        if not texts:
            return
        longest = max(map(len, texts))
        if self._shares and (reason := unfit_layer(self._backbone.config, longest)):
            self._note_plain(reason)
            self._shares, self._stem = False, None
        ordered = branches(texts, self._stem)
        runs = (
            cut(ordered, min(ROW_TOKENS, max(self._budget, longest)))
            if self._shares
            else [[branch] for branch in ordered]
        )
        groups = [RowGroup([self._row(run)], [number]) for number, run in enumerate(runs)]
        for batch in group_by_budget(groups, self._budget):
            yield [runs[number] for group in batch for number in group.numbers]

    def _row(self, run: Run) -> Row:
        return tree(run, self._stem) if self._shares else plain_row(run[0])

    @torch.inference_mode()
    def _run(self, batch: Sequence[Run], labels: Sequence[int]) -> dict[Tokens, list[float]]:
        """The probability of every label at the end of every prompt of a batch, by the tokens of the prompt."""
        collated = collate([self._row(run) for run in batch], self._pad)
        tensors = {name: tensor.to(self._backbone.device) for name, tensor in collated.inputs.items()}
        self.tokens_fed += tensors["input_ids"].numel()
        inputs: dict[str, Any] = dict(
            model_inputs(
                self._backbone, tensors["input_ids"], tensors.get("position_ids"), tensors.get("attention")
            )
        )
        inputs["use_cache"] = self._stem is not None
        if self._stem:
            inputs["past_key_values"] = self._stem.cache(len(batch))
        _hidden, logits = hidden_and_logits(
            self._backbone,
            collated.ends.to(self._backbone.device),
            logits_are_linear=self._logits_are_linear,
            **inputs,
        )
        read = label_probabilities(logits, labels).tolist()
        return dict(zip(collated.names, read, strict=True))  # type: ignore[arg-type]

    def _halve(self, batch: list[Run]) -> list[list[Run]]:
        """Two batches of half the size, and smaller ones from now on; [] for one prompt, which cannot be halved."""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(batch) > 1:
            middle = len(batch) // 2
            halves = [batch[:middle], batch[middle:]]
        else:
            run = batch[0]
            middle = len(run) // 2
            halves = [[run[:middle]], [run[middle:]]] if middle else []
        if halves:
            self._budget = max(LEAST_BUDGET, self._budget // 2)
        return halves


def label_probabilities(logits: Tensor, labels: Sequence[int]) -> Tensor:
    """P of each label over the whole vocabulary, (N, labels) in fp32. logits: (N, vocabulary)."""
    return logits.float().softmax(-1)[:, torch.tensor(labels, device=logits.device)]


def _answer(
    prompt: EncodedPrompt,
    labels: Sequence[int],
    found: Mapping[Tokens, list[float]],
    failed: Mapping[Tokens, str],
) -> Answer:
    """The answer to one prompt. NaN or infinite logits make every probability NaN: such a model answers nothing."""
    if prompt.tokens in failed:
        return Answer(None, failed[prompt.tokens])
    read = found[prompt.tokens]
    first, second = (read[labels.index(label)] for label in prompt.labels)
    if not (math.isfinite(first) and math.isfinite(second)):
        return Answer(None, _("The model's probabilities are not numbers; its weights may be broken."))
    return Answer((first, second))
