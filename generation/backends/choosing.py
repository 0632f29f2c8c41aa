"""Which of a model's replies people are offered: whole, in the dialogue's script, different from each other.

Fewer rather than bad ones; where nothing is good, the least bad ones, so that nobody is left without candidates. The
replies themselves, with their seeds and log-probabilities, stay as they were drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from generation.backends.replies import mean_surprise, reply_key
from generation.protocol import Reply, ReplyRequest, ReplySet
from generation.scripts import scripts_in

FOREIGN = "The model wrote in another script."
BROKEN = "The model wrote a broken sentence."
ALIKE = "The model wrote nearly the same twice."

ENDS = re.compile(r"[.!?…。！？～~)）\"”’」』\]]\s*$|[^\w\s]\s*$")
PIECES = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
SENTENCE_ENDS = re.compile(r"[.!?…]+(?=\s|$)|[。！？…]+|\n+")
THRICE = re.compile(r"\b(\w+)(?:\W+\1\b){2}", re.IGNORECASE)
PAIRS = (("(", ")"), ("（", "）"), ("“", "”"), ("「", "」"), ("《", "》"), ("[", "]"))
LONG_ENOUGH = 5  # pieces; shorter replies that differ by a word differ


def choose_replies(request: ReplyRequest, answer: ReplySet) -> ReplySet:
    """At most `request.count` of the replies, in the order in which they were drawn."""
    faults = {reply: fault_of(reply, request) for reply in answer.replies}
    good = [reply for reply in answer.replies if not faults[reply]]
    if not good:
        least = [reply for reply in answer.replies if faults[reply] == BROKEN] or list(answer.replies)
        return ReplySet(tuple(least[: request.count]), _reasons(request, least, answer.failures))
    chosen = _most_different(good, request.count)
    kept = tuple(reply for reply in answer.replies if reply in chosen)
    dropped = [fault for fault in faults.values() if fault] + [ALIKE] * (len(good) - len(kept))
    return ReplySet(kept, _reasons(request, kept, [*answer.failures, *dropped]))


def _reasons(request: ReplyRequest, kept: Sequence[Reply], reasons: Sequence[str]) -> tuple[str, ...]:
    """One for each reply that is missing; the last ones say most."""
    missing = max(0, request.count - len(kept))
    return tuple(reasons[len(reasons) - missing :]) if missing else ()


def fault_of(reply: Reply, request: ReplyRequest) -> str:
    """What is wrong with a reply by itself; "" if nothing is."""
    if request.scripts and not scripts_in(reply.text) <= set(request.scripts):
        return FOREIGN
    return BROKEN if is_broken(reply, request.sampling.max_new_tokens) else ""


def is_broken(reply: Reply, limit: int) -> bool:
    """Cut in the middle of a sentence, an open bracket, one word three times in a row, or no word at all."""
    text = reply.text
    is_cut = reply.tokens >= limit and not ENDS.search(text)
    is_open = any(text.count(left) != text.count(right) for left, right in PAIRS)
    return is_cut or is_open or "\ufffd" in text or bool(THRICE.search(text)) or not re.search(r"\w", text)


def are_alike(one: str, other: str) -> bool:
    """Whether two replies differ by a word at most, or one only adds a sentence to the other.

    Very short ones differ by every word.
    """
    first, second = _pieces(one), _pieces(other)
    if first == second:
        return True
    if min(len(first), len(second)) >= LONG_ENOUGH and Levenshtein.distance(first, second) <= 1:
        return True
    return _adds_a_sentence(one, other) or _adds_a_sentence(other, one)


def _adds_a_sentence(shorter: str, longer: str) -> bool:
    """Whether `longer` is `shorter` and one more sentence. What "Yes." begins is a reply of its own."""
    shared, sentences = _sentences(shorter), _sentences(longer)
    if len(sentences) != len(shared) + 1:
        return False
    added = next((n for n, sentence in enumerate(shared) if sentence != sentences[n]), len(shared))
    size = sum(map(len, shared))
    return sentences[:added] + sentences[added + 1 :] == shared and (
        size >= LONG_ENOUGH or size >= len(sentences[added])
    )


def _sentences(text: str) -> list[list[str]]:
    """The pieces of each sentence."""
    return list(filter(None, map(_pieces, SENTENCE_ENDS.split(text))))


def _pieces(text: str) -> list[str]:
    return PIECES.findall(reply_key(text))


def _most_different(replies: Sequence[Reply], count: int) -> set[Reply]:
    """Greedy: the best one, then again and again the one that is best and farthest from those before."""
    ranks = _ranks(replies)
    waiting = sorted(replies, key=ranks.__getitem__)
    chosen: list[Reply] = []
    while waiting and len(chosen) < count:
        best = max(waiting, key=lambda reply: _gain(reply, chosen, ranks[reply] / len(replies)))
        waiting.remove(best)
        if not any(are_alike(best.text, other.text) for other in chosen):
            chosen.append(best)
    return set(chosen)


def _ranks(replies: Sequence[Reply]) -> dict[Reply, int]:
    """By the preference score; without one, ordinary draws before warmed ones, and the likelier ones first.

    Taking likely samples goes back to sample-and-rank (Adiwardana et al. 2020); here it is the mean over the tokens,
    which does not prefer short replies.
    """
    order = sorted(replies, key=lambda reply: (-(reply.score or 0.0), reply.warmth, mean_surprise(reply)))
    return {reply: rank for rank, reply in enumerate(order)}


def _gain(reply: Reply, chosen: Sequence[Reply], rank: float) -> float:
    """Half quality, half distance to the nearest reply that is chosen already, both from 0 to 1."""
    distances = [Levenshtein.normalized_distance(reply.text, other.text) for other in chosen]
    return (1 - rank) + min(distances, default=1.0)
