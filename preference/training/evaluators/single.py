"""Evaluators that score each reply by itself, in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.messages import gettext as _


def empty_response(reply: ReplyToScore) -> ReplyScore | None:
    """The score of a reply without text; None for any other reply."""
    return None if reply.response else ReplyScore(reply.id, None, _("The response is empty."))


def score_each(
    replies: Sequence[ReplyToScore], score: Callable[[ReplyToScore], float | str]
) -> list[ReplyScore]:
    """score: a number, or the reason why a reply has none. It never gets an empty response."""
    return [_score_one(reply, score) for reply in replies]


def _score_one(reply: ReplyToScore, score: Callable[[ReplyToScore], float | str]) -> ReplyScore:
    value = empty_response(reply) or score(reply)
    if isinstance(value, ReplyScore):
        return value
    return ReplyScore(reply.id, None, value) if isinstance(value, str) else ReplyScore(reply.id, value)
