"""Several controllers on one sample: each is given other dialogues, as long as there are any."""

from collections.abc import Iterable

from django.core.cache import cache

from accounts.models import User
from annotation.models import RoundState, Sample, SampleItem
from annotation.selectors.batches import left_for

HELD_SECONDS = 180  # a controller who is away longer has let it go
LOOKED_AT = 64  # dialogues ahead


def next_items(controller: User, sample: Sample, count: int, *, held: Iterable[int] = ()) -> list[SampleItem]:
    """What the controller judges next, beyond `held`, and holds it: who shares the sample is given other ones.

    Holding is a courtesy that ends by itself; what two judge all the same, the first judgement decides. A dialogue
    that somebody else holds is given only when nothing else is left.
    """
    if sample.round.state != RoundState.IN_REVIEW or count < 1:
        return []
    rows = list(left_for(controller, sample).exclude(pk__in=list(held))[:LOOKED_AT])
    if sample.is_double:
        return rows[:count]
    keys = {item.pk: f"sampled:{item.pk}" for item in rows}
    taken = cache.get_many(keys.values())
    rows.sort(key=lambda item: taken.get(keys[item.pk], controller.pk) != controller.pk)
    given = rows[:count]
    cache.set_many({keys[item.pk]: controller.pk for item in given}, HELD_SECONDS)
    return given
