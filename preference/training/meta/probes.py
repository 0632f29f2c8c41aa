"""Robustness: good replies are spoiled in known ways, and an evaluator should notice (PairEval paper, section 4.3).

repeated          the reply repeats the last utterance
swapped_speakers  the last two utterances change places, so that the reply answers its own speaker
other_dialogue    the reply is one that was given to another history

Good replies are the references; without references, the replies that people scored at or above the median.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import median

import numpy as np

from measures.bootstrap import clustered_mean
from preference.training.common.evaluators import Evaluator, ReplyToScore
from preference.training.common.scoring_run import score_in_batches
from preference.training.meta.data import JudgedReply
from preference.training.meta.scores import Figures, Resampling

PROBES = ("repeated", "swapped_speakers", "other_dialogue")


@dataclass(frozen=True, slots=True)
class Probe:
    """good: before it was spoiled. The reference of both is None, because a good reply may be the reference itself."""

    good: ReplyToScore
    spoiled: ReplyToScore


def good_replies(replies: Sequence[JudgedReply]) -> list[ReplyToScore]:
    """Different replies with a history: the references, or those scored at or above the median."""
    with_reference = [
        replace(each.reply, response=each.reply.reference) for each in replies if each.reply.reference
    ]
    scored = [each.reply for each in replies if each.reply.human is not None and each.reply.response]
    middle = median(reply.human or 0.0 for reply in scored) if scored else 0.0
    chosen = with_reference or [reply for reply in scored if (reply.human or 0.0) >= middle]
    different = {(reply.history, reply.response): reply for reply in chosen if reply.history}
    return [replace(reply, reference=None) for reply in different.values()]


def make_probes(replies: Sequence[ReplyToScore], *, seed: int) -> dict[str, list[Probe]]:
    """By the name in PROBES. Replies that a probe would not change are left out of it."""
    random = Random(seed)
    spoil: dict[str, Callable[[ReplyToScore], ReplyToScore | None]] = {
        "repeated": _repeat,
        "swapped_speakers": _swap_speakers,
        "other_dialogue": lambda reply: _take_other(reply, replies, random),
    }
    return {name: list(_spoil_all(replies, name, spoil[name])) for name in PROBES}


def probe_figures(evaluator: Evaluator, probes: dict[str, list[Probe]], resampling: Resampling) -> Figures:
    """By probe: `noticed`, the share of good replies that score higher than spoiled, and the mean `drop` of the score.

    A tie is not noticed. Intervals resample histories. n counts the replies that both have a score.
    """
    good = {probe.good.id: probe.good for found in probes.values() for probe in found}
    scored = score_in_batches(evaluator, list(good.values()))
    values = {score.id: score.value for score in scored}
    return {name: _figures(evaluator, found, values, resampling) for name, found in probes.items()}


def _figures(
    evaluator: Evaluator, probes: Sequence[Probe], good: dict[str, float | None], resampling: Resampling
) -> Figures:
    spoiled = score_in_batches(evaluator, [probe.spoiled for probe in probes])
    pairs = [
        (before, after.value, probe.good.history)
        for probe, after in zip(probes, spoiled, strict=True)
        if (before := good[probe.good.id]) is not None and after.value is not None
    ]
    drops = np.array([before - after for before, after, _ in pairs], np.float64)
    clusters = [history for *_, history in pairs]
    noticed, drop = (
        clustered_mean(values, clusters, seed=resampling.seed, left_out=len(probes) - len(pairs))
        for values in ((drops > 0).astype(np.float64), drops)
    )
    return {"noticed": noticed.as_dict(), "drop": drop.as_dict(), "n_unscored": len(probes) - len(pairs)}


def _spoil_all(
    replies: Sequence[ReplyToScore], name: str, spoil: Callable[[ReplyToScore], ReplyToScore | None]
) -> Iterator[Probe]:
    for reply in replies:
        spoiled = spoil(reply)
        if spoiled is not None:
            yield Probe(reply, replace(spoiled, id=f"{reply.id}/{name}"))


def _repeat(reply: ReplyToScore) -> ReplyToScore | None:
    last = reply.history[-1]
    return replace(reply, response=last) if last and last != reply.response else None


def _swap_speakers(reply: ReplyToScore) -> ReplyToScore | None:
    *earlier, one, other = ("", *reply.history)
    if not one or one == other:
        return None
    return replace(reply, history=(*earlier[1:], other, one))


def _take_other(reply: ReplyToScore, replies: Sequence[ReplyToScore], random: Random) -> ReplyToScore | None:
    others = [
        each.response for each in replies if each.history != reply.history and each.response != reply.response
    ]
    return replace(reply, response=random.choice(others)) if others else None
