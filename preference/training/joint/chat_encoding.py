"""Dialogues as token ids through the chat template that a model keeps from its base.

    <|im_start|>user⏎ u0 <|im_end|>⏎<|im_start|>assistant⏎ │ h <|im_end|>
    context                                                │ reply, scored at its end

Whoever replies is the assistant, the others are the user, so that any OpenAI-compatible server renders the same prompt
from the folder (tests/preference/training/joint/test_chat_serving.py). The template gets no variables, as no server
passes any by default: a model that could think before it speaks learns to speak at once.

A dialogue has one tree for each speaker's replies, because the roles turn round with who replies. In one of them

    context of turn t  +  reply of turn t  +  end   begins the   context of turn t + 2

as far as the template renders a reply alike when it is written and when it is history. `reply_frame` tries that on the
template before the first step; where it fails (templates that put thoughts into the prompt and take them out of the
history, for example), every turn is packed. Even where it holds, a trunk compares tokens (see `layouts.trunk`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from generation.backends.hf.chat_template import UNHEARD, encode_framed, reply_frame
from generation.backends.hf.rendering import ChatRenderer, TextEncoder
from generation.backends.replies import spoken, without_blanks
from generation.protocol import BackendError, Message
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.shared_context.rows import Tokens
from preference.training.joint.encoding import Encoder, names_of_speakers

ANY_LENGTH = 1 << 20  # tokens


class ChatEncoder(Encoder):
    """The same limits and replies as in `Encoder`, with contexts and ends of the tokenizer's chat template."""

    def __init__(
        self, tokenizer: Any, *, context: int = 384, reply: int = 128, positions: int | None = None
    ) -> None:
        """tokenizer: with a template that `accept_any_order` has prepared. Raises TrainingError."""
        super().__init__(tokenizer, context=context, reply=reply, positions=positions)
        try:
            self._frame = reply_frame(tokenizer)
        except BackendError as error:
            raise TrainingError(error.cause, error.remedy) from error
        self.start, self.end = (), self._frame.end
        self._markup = TextEncoder(tokenizer).markup
        self._renderer = ChatRenderer(tokenizer, as_servers_do=True)
        if not self._frame.continues:
            self.why_no_trees = _(
                "the chat template renders a reply differently when it is written and when others follow it"
            )

    def _utterance(self, text: str) -> Tokens:
        words = spoken(text)
        if not words:
            return ()
        frame = self._frame
        return (*encode_framed(self._markup, self._encode, frame.before, words, frame.after), self.end)

    def view(self, position: int, speakers: Sequence[str]) -> Hashable:
        return names_of_speakers(position + 1, speakers)[-1]

    def context_length(self, utterances: Sequence[str], speakers: Sequence[str] = ()) -> int:
        return len(self._render(utterances, speakers, ANY_LENGTH))

    def context(self, utterances: Sequence[str], speakers: Sequence[str] = ()) -> Tokens:
        """The newest utterances that fit into context_limit, and the beginning of the reply.

        speakers: of the utterances and of the reply, perhaps of more; none: two who alternate.
        """
        return self._render(utterances, speakers, self.context_limit)

    def _render(self, utterances: Sequence[str], speakers: Sequence[str], limit: int) -> Tokens:
        *names, replying = names_of_speakers(len(utterances) + 1, speakers)
        said = without_blanks(Message(name, text) for name, text in zip(names, utterances, strict=True))
        # A template needs a message; a blank opening is one that nobody hears.
        messages = said or [Message(f"not {replying}", UNHEARD)]
        try:
            return tuple(self._renderer.render(messages, replying, limit))
        except BackendError as error:
            raise TrainingError(error.cause, error.remedy) from error
