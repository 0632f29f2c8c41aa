"""Several controllers on one sample: each is given different dialogues as long as there are any."""

from collections.abc import Iterable

from django.core.cache import cache

from accounts.models import User
from annotation.batch_review.models import Sample, SampleItem
from annotation.batch_review.selectors.eligibility import items_left_for
from annotation.tasks.models.rounds import RoundState

RESERVED_SECONDS = 300  # after this a controller counts as gone
LOOKAHEAD = 64  # dialogues


def reserve_next_items(
    controller: User, sample: Sample, count: int, *, held: Iterable[int] = ()
) -> list[SampleItem]:
    """Reserve the next dialogues for the controller, beyond those in `held`. Empty if others have reserved the rest.

    A reservation is a courtesy and expires by itself. If two people judge one dialogue anyway, the first judgement
    counts.
    """
    if sample.round.state != RoundState.IN_REVIEW or count < 1:
        return []
    rows = list(items_left_for(controller, sample).exclude(pk__in=list(held))[:LOOKAHEAD])
    if sample.is_double:  # two controllers judge every dialogue
        return rows[:count]
    keys = {item.pk: f"sampled:{item.pk}" for item in rows}
    reserved = cache.get_many(keys.values())
    free = [item for item in rows if reserved.get(keys[item.pk], controller.pk) == controller.pk]
    cache.set_many({keys[item.pk]: controller.pk for item in free[:count]}, RESERVED_SECONDS)
    return free[:count]
