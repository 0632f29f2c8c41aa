"""Drawing a sample so that anybody can draw it again: the same population, size and seed give the same sample."""

from collections.abc import Sequence
from random import Random


def draw(population: Sequence[int], size: int, seed: int) -> list[int]:
    """A simple random sample without replacement, in random order; all of a population that is not larger."""
    items = sorted(population)
    return Random(seed).sample(items, min(size, len(items)))


def draw_by_class(labels: Sequence[tuple[int, str]], size: int, seed: int) -> list[int]:
    """The same number of every class, at least one, in random order. labels: (item, class).

    A class that is smaller than its share is drawn whole, and the others share what it leaves. A class without a sample
    would leave the accuracy undefined, so where there are more classes than `size`, one of each is drawn.
    """
    members: dict[str, list[int]] = {}
    for item, label in sorted(labels):
        members.setdefault(label, []).append(item)
    dice, drawn, left = Random(seed), list[int](), min(max(size, len(members)), len(labels))
    # The smallest first, so that what they leave is known when the larger ones are drawn.
    names = sorted(members, key=lambda name: (len(members[name]), name))
    for place, name in enumerate(names):
        n = min(len(members[name]), left // (len(names) - place))
        drawn += dice.sample(members[name], n)
        left -= n
    dice.shuffle(drawn)
    return drawn
