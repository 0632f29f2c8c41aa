"""Prompts as tokens, and the two label tokens, found by encoding and comparing.

    encode(prompt + " A")    … Answer : ▁Response ▁A          prompt tokens: what both have in common
    encode(prompt + " B")    … Answer : ▁Response ▁B          labels: the first token in which they differ
                                                  ↑

No tokenizer is assumed to cut " A" in any particular way. One that puts the space in a token of its own, that strips
it, or that adds an end token, still gives a place at which the two texts part, and at that place the model decides
between them. Each prompt is compared by itself: its last tokens may depend on what stands before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.shared_context.rows import Tokens
from preference.training.common.shared_context.trees import common_length
from preference.training.paireval.prompts import CHAT, INST, Conversation, PromptQuestion, PromptWriter

# Encoded once to find out whether the tokenizer can tell the labels apart.
SAMPLE = Conversation(("Hello.",), "Hi!")


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """tokens: up to where the model decides. labels: the tokens of the first and the second answer."""

    tokens: Tokens
    labels: tuple[int, int]


class PromptEncoder:
    """Encodes the prompts of one question. positions: the longest prompt in tokens, None: any."""

    def __init__(
        self, tokenizer: Any, question: PromptQuestion, template: str = INST, positions: int | None = None
    ) -> None:
        """Raises TrainingError if the tokenizer cannot tell the question's labels apart, or has no such template."""
        self.positions = positions
        self.question, self.template = question, template
        self._tokenizer = tokenizer
        self._writer = PromptWriter(question, template, tokenizer)
        sample = (SAMPLE,) * question.conversations
        (prompt,) = self.encode([sample])
        self.labels = prompt.labels
        self.frame = len(prompt.tokens)  # tokens of a prompt about next to nothing

    def encode(self, conversations: Iterable[Sequence[Conversation]]) -> list[EncodedPrompt]:
        """The prompts about these conversations. Raises TrainingError if two labels are the same to the tokenizer."""
        texts = [self._writer.write(one) for one in conversations]
        first, second = (self._tokens([text + label for text in texts]) for label in self.question.labels)
        return [self._compare(*both) for both in zip(first, second, strict=True)]

    def fits(self, prompts: Iterable[EncodedPrompt]) -> bool:
        """Whether the model takes prompts of this length."""
        return self.positions is None or all(len(prompt.tokens) <= self.positions for prompt in prompts)

    def length(self, text: str) -> int:
        """Tokens of a text by itself."""
        return len(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _tokens(self, texts: list[str]) -> list[Tokens]:
        """A chat template writes its own special tokens; otherwise the tokenizer adds those that it always adds."""
        if not texts:
            return []
        encoded = self._tokenizer(texts, add_special_tokens=self.template != CHAT, verbose=False)["input_ids"]
        return [tuple(ids) for ids in encoded]

    def _compare(self, first: Tokens, second: Tokens) -> EncodedPrompt:
        same = common_length(first, second)
        labels = (*first[same : same + 1], *second[same : same + 1])
        if len(labels) < 2 or self._tokenizer.unk_token_id in labels:
            one, other = (repr(label) for label in self.question.labels)
            raise TrainingError(
                _("The model's tokenizer does not tell %(one)s from %(other)s at the end of a prompt.")
                % {"one": one, "other": other},
                _("Use a model whose tokenizer knows both; its vocabulary may lack capital letters."),
            )
        if same == 0:
            raise TrainingError(
                _("The model's tokenizer encodes the whole prompt as one token."), _("Use another model.")
            )
        return EncodedPrompt(first[:same], (labels[0], labels[1]))
