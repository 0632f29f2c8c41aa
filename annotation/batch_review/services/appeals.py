"""Appeals against a controller's correction: raised by annotators, settled by a trainer."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import APPEAL_MOVES, Appeal, AppealState, Judgement, SampleItem
from annotation.batch_review.selectors.access import missing_appeal
from annotation.batch_review.services.locking import lock_sample_item
from annotation.labelling.models.labels import Submission
from annotation.tasks.services.reasons import clean_reason
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from projects.transitions import move, record


@transaction.atomic
def raise_appeal(*, by: User, item_id: int, appeal_id: UUID, reason: str) -> Appeal:
    """Dispute a correction: the label was right. The same appeal_id again returns the first.

    The caller has checked that the person may see the correction. An appeal during review delays the verdict; a later
    one changes the accuracy that is shown, not the verdict.
    Raises Invalid and Refusal: id_in_use, not_corrected, appealed.
    """
    item = lock_sample_item(item_id)
    reason = clean_reason(reason)
    if stored := Appeal.objects.filter(pk=appeal_id).first():
        check_repeat(stored, item_id=item.pk, by_id=by.pk, reason=reason)
        return stored
    if not reason:
        raise Invalid(_("Say why the label was right."), field="reason")
    _check_disputable(item)
    appeal = Appeal.objects.create(id=appeal_id, item=item, by=by, reason=reason)
    record(appeal, kind="raised", project=item.sample.round.project, actor=by, reason=reason)
    return appeal


def _check_disputable(item: SampleItem) -> None:
    judgement = Judgement.objects.filter(item=item, superseded_at=None, number=1).first()
    if judgement is None or judgement.is_right:
        raise Refusal("not_corrected", _("Nobody corrected this label."), _("There is nothing to dispute."))
    if Appeal.objects.filter(item=item).exists():
        raise Refusal(
            "appealed",
            _("Somebody has already disputed this correction."),
            _("A trainer will settle it, or already has."),
        )


@transaction.atomic
def settle_appeal(*, trainer: User, appeal_id: UUID, upheld: bool, settlement: str) -> Appeal:
    """Decide whether a disputed correction is right; upheld: the label was. The same decision again changes nothing.

    Raises NotFound, Invalid, Refusal: already_settled (by somebody else, or the other way), own_case.
    """
    found = Appeal.objects.filter(pk=appeal_id).first()
    if found is None:
        raise missing_appeal()
    item = lock_sample_item(found.item_id)
    appeal = Appeal.objects.select_for_update().get(pk=appeal_id)
    state = AppealState.UPHELD if upheld else AppealState.REJECTED
    if appeal.state == state and appeal.settled_by_id == trainer.pk:
        return appeal
    if appeal.state != AppealState.OPEN:
        raise _already_settled(appeal)
    settlement = clean_reason(settlement, field="settlement")
    if not settlement:
        raise Invalid(_("Give the reason: it is what people learn from."), field="settlement")
    _refuse_own_case(trainer, appeal, item)
    move(
        appeal,
        to=state,
        moves=APPEAL_MOVES,
        project=item.sample.round.project,
        actor=trainer,
        reason=settlement,
        settled_by=trainer,
        settled_at=timezone.now(),
        settlement=settlement,
    )
    return appeal


def _refuse_own_case(trainer: User, appeal: Appeal, item: SampleItem) -> None:
    if appeal.by_id == trainer.pk or _took_part(trainer, item):
        raise Refusal(
            "own_case",
            _("You raised this appeal, or labelled, decided or judged the dialogue yourself."),
            _("Let another trainer settle it."),
        )


def _took_part(person: User, item: SampleItem) -> bool:
    judged = Judgement.objects.filter(item=item, controller=person)
    labelled = Submission.objects.filter(task=item.task_id, annotator=person)
    return item.final.decided_by_id == person.pk or judged.exists() or labelled.exists()


def _already_settled(appeal: Appeal) -> Refusal:
    name = appeal.settled_by.shown_name if appeal.settled_by else _("Somebody")
    return Refusal(
        "already_settled",
        _("%(name)s has already settled this appeal.") % {"name": name},
        _("Read the settlement; it cannot be changed."),
    )
