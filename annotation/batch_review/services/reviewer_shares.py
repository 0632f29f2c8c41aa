"""Several controllers on one sample: each is given other dialogues, as long as there are any."""

from collections.abc import Iterable

from django.core.cache import cache

from accounts.models import User
from annotation.batch_review.models import Sample, SampleItem
from annotation.batch_review.selectors.batches import left_for
from annotation.tasks.models.rounds import RoundState

HELD_SECONDS = 300  # a controller who is away longer has let it go
LOOKED_AT = 64  # dialogues ahead


def next_items(controller: User, sample: Sample, count: int, *, held: Iterable[int] = ()) -> list[SampleItem]:
    """What the controller judges next, beyond `held`, and holds it: who shares the sample is given other ones.

    Holding is a courtesy that ends by itself; where two judge one dialogue all the same, the first judgement counts.
    Empty while others hold all that is left.
    """
    if sample.round.state != RoundState.IN_REVIEW or count < 1:
        return []
    rows = list(left_for(controller, sample).exclude(pk__in=list(held))[:LOOKED_AT])
    if sample.is_double:  # both judge all of it
        return rows[:count]
    keys = {item.pk: f"sampled:{item.pk}" for item in rows}
    taken = cache.get_many(keys.values())
    free = [item for item in rows if taken.get(keys[item.pk], controller.pk) == controller.pk]
    cache.set_many({keys[item.pk]: controller.pk for item in free[:count]}, HELD_SECONDS)
    return free[:count]
