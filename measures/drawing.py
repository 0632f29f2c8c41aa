"""Draws reproducible samples: the same population, size and seed give the same sample."""

from collections.abc import Sequence
from random import Random


def draw(population: Sequence[int], size: int, seed: int) -> list[int]:
    """A simple random sample without replacement, in random order; the whole population if it is not larger."""
    items = sorted(population)
    return Random(seed).sample(items, min(size, len(items)))


def draw_by_class(labels: Sequence[tuple[int, str]], size: int, seed: int) -> list[int]:
    """A stratified sample with equally many items per class, at least one, in random order. labels: (item, class).

    A class smaller than its share is drawn whole, and the other classes share the rest. With more classes than `size`,
    one item of each class is drawn, because a class without a sample would leave the accuracy undefined.
    """
    members: dict[str, list[int]] = {}
    for item, label in sorted(labels):
        members.setdefault(label, []).append(item)
    rng, drawn, left = Random(seed), list[int](), min(max(size, len(members)), len(labels))
    # Smallest class first, so that the rest is known when the larger classes are drawn.
    names = sorted(members, key=lambda name: (len(members[name]), name))
    for place, name in enumerate(names):
        n = min(len(members[name]), left // (len(names) - place))
        drawn += rng.sample(members[name], n)
        left -= n
    rng.shuffle(drawn)
    return drawn
