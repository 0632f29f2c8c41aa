"""The table of ratings that every measure of agreement reads."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import Floats, Ints

Value = str | int | float


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings in long form: item[i] was rated categories[code[i]] by raters[rater[i]].

    item, rater, code: indices into items, raters and categories, shape (ratings,). A rater rates an item at most once.
    Missing ratings are absent.
    """

    items: tuple[Hashable, ...]
    raters: tuple[Hashable, ...]
    categories: tuple[Value, ...]
    item: Ints
    rater: Ints
    code: Ints

    def counts(self) -> Ints:
        """How many raters gave each item each category, shape (items, categories)."""
        width = len(self.categories)
        cells = np.bincount(self.item * width + self.code, minlength=len(self.items) * width)
        return cells.reshape(len(self.items), width).astype(np.int64)

    def values(self) -> Floats:
        """The ratings as numbers, shape (ratings,). Raises ValueError if a category is not a number."""
        return numeric_categories(self.categories)[self.code]

    def matrix(self) -> Floats:
        """The ratings as numbers, shape (items, raters); NaN for a missing rating."""
        table = np.full((len(self.items), len(self.raters)), np.nan)
        table[self.item, self.rater] = self.values()
        return table


def ratings_from_triples(
    triples: Iterable[tuple[Hashable, Hashable, Value | None]], categories: Sequence[Value] | None = None
) -> Ratings:
    """Build ratings from (item, rater, value). A value of None is a missing rating of a known item and rater.

    categories: every option that could be chosen, in order; by default those that occur, sorted.
    Raises ValueError if someone rates an item twice or gives a value outside the categories.
    """
    rows = list(triples)
    rated = [(item, rater, value) for item, rater, value in rows if value is not None]
    found = {value for _, _, value in rated}
    options = tuple(categories) if categories is not None else tuple(sorted(found, key=_sort_key))
    items, raters = _index_by_name(row[0] for row in rows), _index_by_name(row[1] for row in rows)
    places = {option: place for place, option in enumerate(options)}
    if len({(row[0], row[1]) for row in rated}) < len(rated):
        raise ValueError("Somebody rated an item twice: keep one rating per person and item.")
    unknown = next((row[2] for row in rated if row[2] not in places), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is not one of the categories {list(options)!r}.")
    return Ratings(
        items=tuple(items),
        raters=tuple(raters),
        categories=options,
        item=np.array([items[row[0]] for row in rated], np.int64),
        rater=np.array([raters[row[1]] for row in rated], np.int64),
        code=np.array([places[row[2]] for row in rated], np.int64),
    )


def ratings_from_matrix(
    rows: Sequence[Sequence[Value | None]], categories: Sequence[Value] | None = None
) -> Ratings:
    """Build ratings from one row per item and one column per rater; None for a missing rating."""
    triples = ((i, r, value) for i, row in enumerate(rows) for r, value in enumerate(row))
    return ratings_from_triples(triples, categories)


def numeric_categories(categories: Sequence[Value]) -> Floats:
    """The categories as numbers. Raises ValueError if one is not a number."""
    try:
        return np.array([float(category) for category in categories], np.float64)
    except ValueError as error:
        raise ValueError(f"This measure needs numbers as categories: {list(categories)!r}.") from error


def _index_by_name(names: Iterable[Hashable]) -> dict[Hashable, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _sort_key(value: Value) -> tuple[int, float, str]:
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")
