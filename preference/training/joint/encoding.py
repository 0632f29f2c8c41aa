"""Dialogues as token ids, always in the plain rendering: `<bos>` utterance `<eou>` utterance `<eou>` …

`<eou>` is the tokenizer's eos_token. A chat template would render an utterance differently as a reply and as context,
so that replies could not share what is encoded; models are saved without one, and serving renders them plainly too
(generation.backends.hf.rendering.PlainRenderer, whose rules these are).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from generation.backends.hf.rendering import LONGEST_TOKEN, TextEncoder
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

Tokens = tuple[int, ...]
KEPT_TEXTS = 1 << 15
SHORTEST_CONTEXT = 8


class Encoder:
    """context, reply: tokens at most, the end of the utterance counted; notes: what was set differently, and why."""

    def __init__(
        self, tokenizer: Any, *, context: int = 384, reply: int = 128, positions: int | None = None
    ) -> None:
        """positions: the longest sequence that the model takes. Raises TrainingError."""
        if tokenizer.eos_token_id is None:
            raise TrainingError(
                _("The tokenizer has no eos_token, which ends an utterance."),
                _(
                    "Set eos_token in tokenizer_config.json to the token that the model was trained to end with."
                ),
            )
        self.notes: list[str] = []
        self.start: Tokens = () if tokenizer.bos_token_id is None else (tokenizer.bos_token_id,)
        self.end: int = tokenizer.eos_token_id
        # Never seen by a token that counts. Models warn of their own pad token where there is no padding mask.
        self.pad = self.end
        self.context_limit = self._fitting(context, reply, positions)
        self.reply_limit = reply
        self._encode = TextEncoder(tokenizer).encode
        self.utterance = lru_cache(KEPT_TEXTS)(self._utterance)

    def _fitting(self, context: int, reply: int, positions: int | None) -> int:
        if positions is None or context + reply <= positions:
            return context
        if positions - reply < SHORTEST_CONTEXT:
            raise TrainingError(
                _(
                    "The model takes %(positions)s tokens at most, and a reply of %(reply)s leaves no room "
                    "for a context."
                )
                % {"positions": positions, "reply": reply},
                _("Lower the recipe's reply, or use a model with more positions."),
            )
        said = _(
            "Contexts are cut to %(cut)s tokens instead of %(context)s, because the model takes %(positions)s "
            "at most."
        )
        self.notes.append(said % {"cut": positions - reply, "context": context, "positions": positions})
        return positions - reply

    def _utterance(self, text: str) -> Tokens:
        """With its end; nothing at all for a blank one."""
        return (*self._encode(text), self.end) if text.strip() else ()

    def reply(self, text: str) -> Tokens:
        """Cut to the limit, and always with its end, where it is scored."""
        tokens = self.utterance(text)
        return tokens if len(tokens) <= self.reply_limit else (*tokens[: self.reply_limit - 1], self.end)

    def context(self, utterances: Sequence[str]) -> Tokens:
        """The newest utterances that fit whole; the last is never dropped, only cut from the left."""
        room = self.context_limit - len(self.start)
        kept: Tokens = ()
        for text in reversed(utterances):
            tokens = self.utterance(text[-room * LONGEST_TOKEN :])
            if not kept:
                tokens = tokens[-room:]
            if len(kept) + len(tokens) > room:
                break
            kept = tokens + kept
        return self.start + kept
