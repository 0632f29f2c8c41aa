"""A dialogue as tokens.

Without a chat template: the begin token (if the tokenizer has one), then every utterance followed by the
end-of-utterance token. With a template: its output. The words of a dialogue never become special tokens: if they
contain the text of one ("<eou>"), that text is cut in two before it is encoded. Blank utterances are left out.
"""

from __future__ import annotations

import re
import secrets
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Protocol

from generation.backends.hf.chat_template import UNHEARD, render
from generation.backends.replies import (
    add_persona,
    chat_messages,
    missing_opening_error,
    replace_surrogates,
    without_blanks,
)
from generation.backends.speaker_marks import speaker_marks
from generation.protocol import BackendError, Message

# Characters. In no vocabulary is the average token longer, so text beyond budget × this would be cut anyway.
MAX_TOKEN_CHARACTERS = 64


class Renderer(Protocol):
    def render(
        self, context: Sequence[Message], speaker: str, budget: int, persona: Sequence[str] = ()
    ) -> list[int]:
        """At most `budget` tokens, ending where the reply of `speaker` starts; oldest utterances are dropped."""
        ...


class TextEncoder:
    """Encodes text without interpreting special tokens in it."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        added = (token.content for token in tokenizer.added_tokens_decoder.values())
        # Added tokens of one character or of white space (some vocabularies have them) are ordinary text.
        reserved = sorted((t for t in added if len(t) > 1 and t.strip()), key=len, reverse=True)
        self._reserved = re.compile(f"(?=({'|'.join(map(re.escape, reserved))}))") if reserved else None

    def reserved_in(self, text: str) -> bool:
        return bool(self._reserved and self._reserved.search(text))

    def encode(self, text: str) -> list[int]:
        tokens = [token for piece in self._pieces(replace_surrogates(text)) for token in self.markup(piece)]
        return [token for token in tokens if token not in self._special]

    def markup(self, text: str) -> list[int]:
        """Encode a template's own text, in which special tokens are intended."""
        return list(self._tokenizer.encode(text, add_special_tokens=False, verbose=False)) if text else []

    def _pieces(self, text: str) -> Iterator[str]:
        """The text, cut after the first character of every reserved string, so that no piece contains one."""
        cuts = [m.start() + 1 for m in self._reserved.finditer(text)] if self._reserved else []
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            yield text[start:end]


class PlainRenderer:
    """`<bos>` utterance `<eou>` utterance `<eou>` …

    With speaker marks, every utterance begins with the mark of its speaker, and the prompt ends with that of the reply.
    """

    def __init__(self, tokenizer: Any, *, speaker_marks: bool = False) -> None:
        self._encoder = TextEncoder(tokenizer)
        self._has_marks = speaker_marks
        self._end = tokenizer.eos_token_id
        self._start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]

    def render(
        self, context: Sequence[Message], speaker: str, budget: int, persona: Sequence[str] = ()
    ) -> list[int]:
        start = self._start + self._persona(persona, budget // 2)
        marks = self._marks(context, speaker)
        mark = marks.get(speaker, [])
        room = budget - len(start) - len(mark)
        tokens: list[int] = []
        for message in reversed(without_blanks(context, room * MAX_TOKEN_CHARACTERS)):
            utterance = [*marks.get(message.speaker, []), *self._encoder.encode(message.text), self._end]
            if not tokens:
                utterance = utterance[-room:]  # the last utterance is never dropped, only cut from the left
            if len(tokens) + len(utterance) > room:
                break
            tokens = utterance + tokens
        # A model needs one token to start from.
        return start + tokens + mark or [self._end]

    def _marks(self, context: Sequence[Message], speaker: str) -> dict[str, list[int]]:
        """The mark of every speaker, as tokens; empty if the model has none."""
        if not self._has_marks:
            return {}
        speakers = [*(message.speaker for message in context), speaker]
        marks = zip(speakers, speaker_marks(speakers), strict=True)
        return {each: self._encoder.encode(mark) for each, mark in dict(marks).items()}

    def _persona(self, persona: Sequence[str], room: int) -> list[int]:
        """The sentences as utterances, as many as fit: a long persona leaves room for the dialogue."""
        tokens: list[int] = []
        for sentence in persona:
            utterance = [*self._encoder.encode(sentence), self._end]
            if len(tokens) + len(utterance) > room:
                break
            tokens += utterance
        return tokens


class ChatRenderer:
    """The tokenizer's chat template; the replying speaker is the assistant.

    as_servers_do: nothing is passed to the template, which is how a model is trained with its template. Otherwise
    models that would think before they speak are asked not to.
    """

    def __init__(self, tokenizer: Any, system_prompt: str = "", *, as_servers_do: bool = False) -> None:
        self._tokenizer = tokenizer
        self._encoder = TextEncoder(tokenizer)
        self._system_prompt = system_prompt
        # Templates ignore unknown variables; Qwen3 and similar models read this one.
        self._options = {} if as_servers_do else {"enable_thinking": False}

    def render(
        self, context: Sequence[Message], speaker: str, budget: int, persona: Sequence[str] = ()
    ) -> list[int]:
        if persona:
            return self._with_persona(persona).render(context, speaker, budget)
        clipped = without_blanks(context, budget * MAX_TOKEN_CHARACTERS)
        if not clipped:
            raise missing_opening_error()
        whole = self._tokens(clipped, speaker)
        if len(whole) <= budget:
            return whole
        dropped = bisect_left(
            range(len(clipped) - 1), True, key=lambda n: len(self._tokens(clipped[n:], speaker)) <= budget
        )
        tokens = self._tokens(clipped[dropped:], speaker)
        return tokens if len(tokens) <= budget else self._cut(clipped[-1], speaker, budget)

    def _with_persona(self, persona: Sequence[str]) -> ChatRenderer:
        described = copy(self)
        described._system_prompt = add_persona(self._system_prompt, persona)
        return described

    def _cut(self, message: Message, speaker: str, budget: int) -> list[int]:
        """Render only the last utterance, which is too long, shortened from the left until it fits."""
        words = self._encoder.encode(message.text)
        # A blank message would be left out with its frame.
        frame = len(self._tokens([Message(message.speaker, ".")], speaker)) - len(self._encoder.encode("."))
        for spare in (0, 2, 8, 32):  # cut text may encode to a few tokens more than it was cut from
            room = budget - frame - spare
            if room > 0:
                text = self._tokenizer.decode(words[-room:]).lstrip("\ufffd")
                tokens = self._tokens([Message(message.speaker, text)], speaker)
                if len(tokens) <= budget:
                    return tokens
        raise BackendError(
            f"The chat template alone takes {frame} of the {budget} tokens a context may have.",
            "Raise max_context, or shorten the system prompt.",
        )

    def _tokens(self, context: Sequence[Message], speaker: str) -> list[int]:
        messages = chat_messages(context, speaker, self._system_prompt)
        if not any(self._encoder.reserved_in(m["content"]) for m in messages):
            return self._encoder.markup(self._apply(messages))
        # Render marks instead of the words, then encode template and words separately.
        mark = secrets.token_hex(12)
        marked = [{**m, "content": f"{mark}{i}-"} for i, m in enumerate(messages)]
        parts = re.split(f"{mark}([0-9]+)-", self._apply(marked))
        tokens: list[int] = []
        for markup, index in zip(parts[::2], [*parts[1::2], None], strict=True):
            tokens += self._encoder.markup(markup)
            tokens += self._encoder.encode(messages[int(index)]["content"].strip()) if index else []
        return tokens

    def _apply(self, messages: list[dict[str, str]]) -> str:
        """The rendered template. Some accept only dialogues that the user opens; those get a user who says "…"."""
        opened = [m for m in messages if m["role"] == "system"]
        opened += [{"role": "user", "content": UNHEARD}] + [m for m in messages if m["role"] != "system"]
        try:
            return self._template(messages)
        except Exception as error:  # templates raise what they like
            try:
                return self._template(opened)
            except Exception:
                raise BackendError(
                    f"The model's chat template refuses this dialogue: {error}.",
                    "Use a model whose template takes any order of speakers, or set chat to false.",
                ) from error

    def _template(self, messages: list[dict[str, str]]) -> str:
        return render(self._tokenizer, messages, **self._options)
