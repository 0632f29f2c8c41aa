"""Unsent text, stored on the server so that another device finds it."""

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.models import Draft, Turn
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.assignment import check_still_annotates, lock_assignment
from common.refusals import Refusal
from dialogues.models import Dialogue
from projects.models import Protocol

# Characters. Longer than any project allows to send, so that pasted text is not lost at once.
MAX_DRAFT = 100_000


@transaction.atomic
def save_draft(
    *,
    annotator: User,
    assignment_id: int,
    position: int,
    text: str,
    candidate_set: int | None,
    source: int | None,
    version: int,
) -> Draft:
    """Store the draft, unless another device has stored one since `version`, or has written the turn.

    Raises NotAllowed, and Refusal: draft_conflict with the newer draft, written_elsewhere as for a turn.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    check_still_annotates(assignment)
    check_unwritten(assignment.dialogue, position)
    draft, _created = Draft.objects.get_or_create(assignment=assignment)
    text = text.replace("\0", "")[:MAX_DRAFT]
    if draft.version != version and draft.text != text:
        raise _conflict(draft)
    known = assignment.dialogue.candidate_sets.filter(pk=candidate_set).exists() if candidate_set else False
    draft.position, draft.text, draft.source = position, text, source if known else None
    draft.candidate_set_id = candidate_set if known else None
    draft.version, draft.saved_at = draft.version + 1, timezone.now()
    draft.save()
    return draft


def check_unwritten(dialogue: Dialogue, position: int) -> None:
    """Raise Refusal written_elsewhere if the dialogue has a text at this position."""
    expected = dialogue.utterance_count
    if position >= expected:
        return
    raise Refusal(
        "written_elsewhere",
        _("Turn %(n)d was already written, in another tab or on another device.") % {"n": position + 1},
        _(
            "Load the dialogue again to see what is stored. Your text was not stored, and nothing was overwritten."
        ),
        details={"expected": expected, "stored": dialogue.utterances.get(position=position).text},
    )


def _conflict(draft: Draft) -> Refusal:
    newer = {
        "position": draft.position,
        "text": draft.text,
        "version": draft.version,
        "saved_at": draft.saved_at.isoformat(),
    }
    return Refusal(
        "draft_conflict",
        _("This draft was changed in another tab or on another device."),
        _("Choose which of the two texts to keep."),
        details={"draft": newer},
    )


def clear_draft(*, assignment: Assignment, position: int) -> None:
    """Empty the draft after its text was sent."""
    Draft.objects.filter(assignment=assignment).update(
        position=position,
        text="",
        candidate_set=None,
        source=None,
        version=F("version") + 1,
        saved_at=timezone.now(),
    )


def restore_draft(*, assignment: Assignment, turn: Turn) -> None:
    """Put the text of an undone turn back into the draft."""
    draft, _created = Draft.objects.get_or_create(assignment=assignment)
    draft.position, draft.text, draft.source = turn.position, turn.text, turn.source
    draft.candidate_set_id = turn.candidate_set_id if turn.source is not None else None
    draft.version, draft.saved_at = draft.version + 1, timezone.now()
    draft.save()
