"""Elects one label from several votes."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal, TypeVar

import numpy as np

from measures.bootstrap import Ints

T = TypeVar("T", bound=Hashable)
Fallback = Literal["none", "median"]


def majority(votes: Sequence[T]) -> T | None:
    """The label with more votes than any other; None for a tie or without votes."""
    counts = Counter(votes)
    most = max(counts.values(), default=0)
    winners = [label for label, count in counts.items() if count == most]
    return winners[0] if len(winners) == 1 else None


def median_vote(votes: Sequence[T], options: Sequence[T]) -> T | None:
    """The median vote in the order of the options (the lower of two middle votes); None without votes."""
    places = sorted(options.index(vote) for vote in votes)
    return options[places[(len(places) - 1) // 2]] if places else None


def majority_codes(counts: Ints, *, fallback: Fallback = "none") -> Ints:
    """The column with the most votes, shape (items,); -1 for a tie or without votes.

    counts: shape (items, categories). fallback: "median" resolves a tie to the median vote in the order of the columns
    (preset `diamante-evaluation`), the lower of two middle votes.
    """
    if counts.size == 0:
        return np.full(counts.shape[0], -1, np.int64)
    votes, most = counts.sum(axis=1), counts.max(axis=1)
    clear = (counts == most[:, None]).sum(axis=1) == 1
    middle = (np.cumsum(counts, axis=1) * 2 >= votes[:, None]).argmax(axis=1)
    codes = np.where(clear, counts.argmax(axis=1), middle if fallback == "median" else -1)
    return np.where(votes > 0, codes, -1)
