"""Unsent answers, stored on the server so that another device finds them."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import LabelDraft
from annotation.labelling.schema.answers import check_answers
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import speakers_in
from annotation.labelling.services.submissions import MAX_NOTE
from annotation.tasks.models.work import AssignmentState
from annotation.tasks.services.assignment import ensure_held, lock_assignment
from common.refusals import Invalid, Refusal
from projects.models import Protocol


@transaction.atomic
def save_label_draft(
    *, annotator: User, assignment_id: int, answers: Mapping[str, Any], note: str, version: int
) -> LabelDraft:
    """Store the draft unless a newer one than `version` exists. Raises Refusal `draft_conflict` with the newer draft.

    Drops answers that the schema does not know: a draft may be older than the questions.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.LABELLING
    )
    row = assignment.project.labelling.schema
    if row is None:
        raise Invalid(_("This project has no questions yet."), _("Ask its trainer to write them."))
    if assignment.state != AssignmentState.SUBMITTED:
        ensure_held(assignment)
    known, _problems = check_answers(
        load_schema(row), answers, speakers_in(assignment.dialogue_id), complete=False
    )
    draft, _created = LabelDraft.objects.get_or_create(assignment=assignment)
    note = note.replace("\0", "")[:MAX_NOTE]
    if draft.version != version and (draft.answers != known or draft.note != note):
        raise _conflict(draft)
    draft.answers, draft.note = known, note
    draft.version, draft.saved_at = draft.version + 1, timezone.now()
    draft.save()
    return draft


def _conflict(draft: LabelDraft) -> Refusal:
    newer = {
        "answers": draft.answers,
        "note": draft.note,
        "version": draft.version,
        "saved_at": draft.saved_at.isoformat(),
    }
    return Refusal(
        "draft_conflict",
        _("These answers were changed in another tab or on another device."),
        _("Choose which of the two to keep."),
        details={"draft": newer},
    )
