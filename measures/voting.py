"""One label out of several votes."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal, TypeVar

import numpy as np

from measures.bootstrap import Ints

T = TypeVar("T", bound=Hashable)
Fallback = Literal["none", "median"]


def majority(votes: Sequence[T]) -> T | None:
    """The label that more voters chose than any other; None for a tie, or without votes."""
    counts = Counter(votes)
    most = max(counts.values(), default=0)
    first = [label for label, count in counts.items() if count == most]
    return first[0] if len(first) == 1 else None


def median_vote(votes: Sequence[T], options: Sequence[T]) -> T | None:
    """The middle vote in the order of the options, the lower of two; None without votes."""
    places = sorted(options.index(vote) for vote in votes)
    return options[places[(len(places) - 1) // 2]] if places else None


def majority_codes(counts: Ints, *, fallback: Fallback = "none") -> Ints:
    """Shape (items,): the column with the most votes, -1 for a tie or without votes.

    counts: shape (items, categories). With fallback "median" a tie becomes the median of the votes, columns taken in
    their order (protocol `diamante-evaluation`), the lower of two.
    """
    if counts.size == 0:
        return np.full(counts.shape[0], -1, np.int64)
    votes, most = counts.sum(axis=1), counts.max(axis=1)
    clear = (counts == most[:, None]).sum(axis=1) == 1
    middle = (np.cumsum(counts, axis=1) * 2 >= votes[:, None]).argmax(axis=1)
    codes = np.where(clear, counts.argmax(axis=1), middle if fallback == "median" else -1)
    return np.where(votes > 0, codes, -1)
