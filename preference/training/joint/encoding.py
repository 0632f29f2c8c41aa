"""Dialogues as token ids, rendered plainly: `<bos>` utterance `<eou>` utterance `<eou>` …

`<eou>` is the tokenizer's eos_token; the preference head reads its hidden state. Models are saved without a chat
template, and serving follows the same rules (generation.backends.hf.rendering.PlainRenderer). Blank utterances are left
out, by the same function as there (generation.backends.replies.spoken). See `chat_encoding` for models that keep the
chat template of their base.

A reply of more tokens than the limit is cut. Its `<eou>` is then ours, not its writer's:

    tokens       c   c   <eou>  h   h   h   <eou>
    predicts                h   h   h               <eou> is not a target, or it would teach to stop in mid-sentence
    scored                                    s     the head still reads it

The head has to read some token, and reads the one that it reads everywhere: the score of a cut reply is that of its
beginning as a finished reply, in training, evaluation and serving (where max_new_tokens cuts) alike.

With speaker marks (see `generation.backends.speaker_marks`) every utterance of the context begins with its speaker's,
and the context ends with the mark of who replies. A mark belongs to the context: it is never learned.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any

from generation.backends.hf.rendering import MAX_TOKEN_CHARACTERS, TextEncoder
from generation.backends.replies import spoken
from generation.backends.speaker_marks import speaker_marks
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.shared_context.rows import Row, Tokens

# Every epoch encodes the same utterances and candidates again; this many encodings are kept.
CACHED_TEXTS = 1 << 15
SHORTEST_CONTEXT = 8  # tokens
SHORTEST_REPLY = 2  # one token of text and <eou>
EXAMPLE = ("Hello.", "Hi, how are you?", "Fine, and you?", "Tired.")
ALTERNATING = "AB"  # speakers of a dialogue that does not name them


def names_of_speakers(count: int, speakers: Sequence[str]) -> Sequence[str]:
    """The first `count` speakers; two who alternate if none is named."""
    return speakers[:count] or [ALTERNATING[place % 2] for place in range(count)]


def prompt_format(tokenizer: Any, encoder: Encoder) -> dict[str, str]:
    """A prompt and its reply as text, for whoever serves the model."""
    *said, reply = EXAMPLE
    return {
        "prompt": tokenizer.decode(list(encoder.context(said))),
        "reply": tokenizer.decode(list(encoder.reply(reply))),
    }


class Encoder:
    """Encodes utterances, replies and contexts within their limits.

    context_limit, reply_limit: longest in tokens, <bos> and <eou> included. start: <bos> if the tokenizer has one.
    end: <eou>. notes: limits that the model forced, in sentences. why_no_trees: why the context of a reply does not
    begin with that of an earlier one, "" if it does.
    """

    why_no_trees = ""

    def __init__(
        self,
        tokenizer: Any,
        *,
        context: int = 384,
        reply: int = 128,
        positions: int | None = None,
        speaker_marks: bool = False,
    ) -> None:
        """context, reply: limits in tokens; reply: at least 2. positions: the longest sequence that the model takes,
        None: any.

        Raises TrainingError if the tokenizer has no end token, or the limits do not fit the model.
        """
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
        # No token that counts ever attends to padding. With their own pad token, models warn about the missing mask.
        self.pad = self.end
        self.reply_limit = max(reply, SHORTEST_REPLY)
        self.context_limit = self._context_that_fits(context, self.reply_limit, positions)
        self._encode = TextEncoder(tokenizer).encode
        self._has_marks = speaker_marks
        self._mark = lru_cache(None)(lambda mark: tuple(self._encode(mark)))
        self.utterance = lru_cache(CACHED_TEXTS)(self._utterance)

    def _context_that_fits(self, context: int, reply: int, positions: int | None) -> int:
        """The context limit, lowered until context and reply together have at most `positions` tokens.

        The context gives way, not the reply: a cut reply is scored at an end that its writer did not choose.
        """
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
        template = _(
            "Contexts are cut to %(cut)s tokens instead of %(context)s, because the model takes %(positions)s "
            "at most."
        )
        self.notes.append(template % {"cut": positions - reply, "context": context, "positions": positions})
        return positions - reply

    def _utterance(self, text: str) -> Tokens:
        """All tokens of an utterance and <eou>; empty for a blank one."""
        words = spoken(text)
        return (*self._encode(words), self.end) if words else ()

    def reply(self, text: str) -> Tokens:
        """At most reply_limit tokens, cut on the right, and always with <eou>, where the reply is scored."""
        tokens = self.utterance(text)
        return tokens if len(tokens) <= self.reply_limit else (*tokens[: self.reply_limit - 1], self.end)

    def cuts(self, reply: str) -> bool:
        """Whether the reply is longer than the limit."""
        return len(self.utterance(reply)) > self.reply_limit

    def add_reply(
        self, row: Row, text: str, context: int, *, name: Hashable = None, learned: bool = False
    ) -> int:
        """Append a reply to the piece `context` of a row; returns its index. name, learned: as in Row.add.

        The <eou> of a cut reply is read by the head, but not learned.
        """
        return row.add(self.reply(text), context, name=name, learned=learned, is_cut=self.cuts(text))

    def marks(self, count: int, speakers: Sequence[str] = ()) -> list[Tokens]:
        """The marks of the first `count` utterances of a dialogue, each without tokens if the model reads none.

        speakers: of these utterances or more; none: two who alternate.
        """
        if not self._has_marks:
            return [()] * count
        return [self._mark(mark) for mark in speaker_marks(names_of_speakers(count, speakers))]

    def view(self, position: int, speakers: Sequence[str]) -> Hashable:
        """Replies of a dialogue with the same value here may share its context; position: of the reply."""
        return None

    def context_length(self, utterances: Sequence[str], speakers: Sequence[str] = ()) -> int:
        """Tokens of the whole context, before anything is dropped. speakers: as in `context`."""
        *marks, reply_mark = self.marks(len(utterances) + 1, speakers)
        lengths = (
            len(mark) + len(tokens)
            for mark, text in zip(marks, utterances, strict=True)
            if (tokens := self.utterance(text))
        )
        return len(self.start) + sum(lengths) + len(reply_mark)

    def context(self, utterances: Sequence[str], speakers: Sequence[str] = ()) -> Tokens:
        """The newest utterances that fit into context_limit; the last one is never dropped, only cut on the left.

        speakers: of the utterances and of the reply, perhaps of more; none: two who alternate.
        """
        *marks, reply_mark = self.marks(len(utterances) + 1, speakers)
        room = self.context_limit - len(self.start) - len(reply_mark)
        context: Tokens = ()
        for text, mark in zip(reversed(utterances), reversed(marks), strict=True):
            # Cut before encoding, generously: a pasted book must not be tokenized for its last 384 tokens.
            tokens = self.utterance(spoken(text, room * MAX_TOKEN_CHARACTERS))
            tokens = mark + tokens if tokens else ()
            if not context:
                tokens = tokens[-room:]
            if len(context) + len(tokens) > room:
                break
            context = tokens + context
        return self.start + context + reply_mark
