"""Likelihood and preference score of a reply, from any causal language model.

likelihood   log p(r | c) / |r|, in nats per token, the end of the utterance included unless the reply was cut
preference   s(c, r), the head's value at the end of the reply (Diamante, section 3.2); only for a model trained jointly

A dialogue is encoded as in joint training, `<bos>` utterance `<eou>` utterance `<eou>` …, without the oldest utterances
if they do not fit. Replies to the same history share what is encoded of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

from preference.training.common.arguments import choose_device
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.memory import is_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.shared_context.filling import ROW_TOKENS, RowGroup, group_by_budget
from preference.training.common.shared_context.probe import why_not_shared
from preference.training.common.shared_context.rows import Row
from preference.training.evaluators.single import empty_response
from preference.training.joint.evaluation.scoring import load_ranker, score_rows, served_version

Kind = Literal["likelihood", "preference"]
Scores = dict[int, tuple[float, float, int]]  # by place: preference, log-probability in nats, tokens


class Ranker:
    """Scores replies with one model; `kind` says which of its two scores.

    A row's `tokens` counts those of the response, with its end unless it was cut; `truncated` names what was cut, if
    anything was.
    """

    def __init__(
        self,
        name: str,
        folder: str,
        kind: Kind,
        *,
        context: int = 384,
        reply: int = 128,
        device: str = "auto",
        token_budget: int = 4 * ROW_TOKENS,
    ) -> None:
        """folder: or a hub id. context, reply: limits in tokens. token_budget: of a forward pass, padding included.

        Raises TrainingError if the model cannot be loaded, or has no head for a preference score.
        """
        self.name, self._kind, self._folder, self._budget = name, kind, folder, token_budget
        self._model, head = load_ranker(folder, device=choose_device(device))
        if kind == "preference" and head is None:
            raise TrainingError(
                _("%(folder)s has no preference head.") % {"folder": folder},
                _("Name a folder that joint training wrote, or use likelihood instead of preference."),
            )
        self._model.eval()
        self._encoder = self._model.encoder(context=context, reply=reply)

    def describe(self) -> dict[str, Any]:
        return {
            "evaluator": self._kind,
            "model": served_version(self._folder, self._model),
            "context": self._encoder.context_limit,
            "reply": self._encoder.reply_limit,
        }

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        usable = [place for place, reply in enumerate(replies) if reply.response and self._context(reply)]
        groups = [RowGroup([row]) for row in self._rows(replies, usable)]
        scores: Scores = {}
        for batch in group_by_budget(groups, self._budget):
            scores |= self._score_rows([row for group in batch for row in group.rows])
        return [self._result(reply, scores.get(place)) for place, reply in enumerate(replies)]

    @cached_property
    def _shares_contexts(self) -> bool:
        longest = self._encoder.context_limit + self._encoder.reply_limit
        return not why_not_shared(self._model.backbone, longest)

    def _context(self, reply: ReplyToScore) -> tuple[int, ...]:
        return self._encoder.context(reply.history, reply.speakers)

    def _rows(self, replies: Sequence[ReplyToScore], usable: Sequence[int]) -> Iterator[Row]:
        """One row per history with all its replies as leaves, up to ROW_TOKENS; or one per reply."""
        rows: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[Row, int]] = {}
        for place in usable:
            history = replies[place].history, replies[place].speakers
            tokens = self._encoder.reply(replies[place].response)
            if history in rows and rows[history][0].tokens + len(tokens) > ROW_TOKENS:
                yield rows.pop(history)[0]
            if history not in rows:
                row = Row()
                rows[history] = row, row.add(self._context(replies[place]))
            row, context = rows[history]
            self._encoder.add_reply(row, replies[place].response, context, name=place, learned=True)
            if not self._shares_contexts:
                yield rows.pop(history)[0]
        yield from (row for row, _context in rows.values())

    def _score_rows(self, rows: Sequence[Row]) -> Scores:
        """In one forward pass, or in two halves if memory runs out."""
        try:
            return score_rows(self._model, rows, self._encoder.pad)
        except (RuntimeError, MemoryError) as error:
            if len(rows) < 2 or not is_out_of_memory(error):
                raise
        half = len(rows) // 2
        return self._score_rows(rows[:half]) | self._score_rows(rows[half:])

    def _result(self, reply: ReplyToScore, scores: tuple[float, float, int] | None) -> ReplyScore:
        if scores is None:
            reason = _("There is no history, and the model has no token to begin with.")
            return empty_response(reply) or ReplyScore(reply.id, None, reason)
        preference, logprob, tokens = scores
        value = preference if self._kind == "preference" else logprob / tokens
        details: dict[str, Any] = {"tokens": tokens}
        if truncated := self._truncated(reply):
            details["truncated"] = truncated
        if not math.isfinite(value):
            return ReplyScore(reply.id, None, _("The model's score is not a number."), details)
        return ReplyScore(reply.id, value, details=details)

    def _truncated(self, reply: ReplyToScore) -> list[str]:
        encoder = self._encoder
        cut = {
            "history": encoder.context_length(reply.history, reply.speakers) > encoder.context_limit,
            "response": encoder.cuts(reply.response),
        }
        return [part for part, is_cut in cut.items() if is_cut]
