"""Locks of a batch review. They are always taken in the order round → tasks.

Submitting labels holds one task and reads the round without a lock. So sealing a round waits for submissions that are
on their way, and later ones find the round sealed.
"""

from django.utils.translation import gettext as _

from annotation.batch_review.models import SampleItem
from annotation.tasks.models.rounds import Round
from common.refusals import NotFound


def lock_round(round_id: int) -> Round:
    """Fetch the round with its row locked for the rest of the transaction."""
    locked = Round.objects.select_for_update(of=("self",)).select_related("batch", "project")
    row = locked.filter(pk=round_id).first()
    if row is None:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    return row


def lock_sample_item(item_id: int) -> SampleItem:
    """Fetch a drawn dialogue and lock its round, so that judgements and verdicts come one after the other."""
    rows = SampleItem.objects.select_related("sample", "final__schema", "task")
    item = rows.filter(pk=item_id).first()
    if item is None:
        raise NotFound(_("There is no such dialogue in a sample."), _("Go back to the batch."))
    item.sample.round = lock_round(item.sample.round_id)
    return item
