"""Drawing a sample: repeatable, and by class with nobody left out."""

from collections import Counter

import pytest

from measures.drawing import draw, draw_by_class

LABELS = [(n, "abcdef"[min(5, n // 10)]) for n in range(200)]


def by_class(size: int) -> Counter[str]:
    return Counter(dict(LABELS)[item] for item in draw_by_class(LABELS, size, 7))


def test_the_same_seed_draws_the_same() -> None:
    assert draw(range(100), 10, 3) == draw(list(reversed(range(100))), 10, 3) != draw(range(100), 10, 4)
    assert draw_by_class(LABELS, 30, 3) == draw_by_class(LABELS[::-1], 30, 3)


def test_places_that_small_classes_leave_are_shared() -> None:
    assert by_class(90) == {**dict.fromkeys("abcde", 10), "f": 40}
    assert sum(by_class(500).values()) == 200


@pytest.mark.parametrize("size", [1, 3, 5, 6, 7])
def test_every_class_is_drawn_also_into_a_small_sample(size: int) -> None:
    """A class without a sample would leave the weighted accuracy undefined, and so return the batch unseen."""
    assert set(by_class(size)) == set("abcdef")
    assert sum(by_class(size).values()) == max(size, 6)
