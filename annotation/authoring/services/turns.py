"""Writing a dialogue turn by turn (Diamante §2.1): send a turn, undo it, reset the dialogue, restore it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.authoring.services.candidates import request_candidates
from annotation.authoring.services.drafts import check_unwritten, clear_draft, restore_draft
from annotation.authoring.services.provenance import (
    DerivedProvenance,
    clean_text,
    derive_provenance,
    normalise,
)
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.assignment import ensure_held, lock_assignment
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from dialogues.models import CandidateSet, Dialogue, Provenance, Utterance
from generation.models import CandidateRequest
from projects.models import Protocol
from projects.transitions import record

SPEAKERS = ("A", "B")
MAX_TRACE = 500
PROVENANCE = ("candidate_set", "action", "source", "edit_distance")


@dataclass(frozen=True, slots=True)
class SentTurn:
    """What the browser sends. candidate_set, source: the candidate that the text was started from."""

    id: UUID
    position: int
    text: str
    candidate_set: int | None = None
    source: int | None = None
    active_ms: int = 0
    idle_ms: int = 0
    trace: Sequence[dict[str, Any]] = field(default=())


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A stored or undone turn, and the request for the candidates of the turn to be written next.

    repeated: the same turn was sent before.
    """

    turn: Turn
    assignment: Assignment
    request: CandidateRequest | None
    repeated: bool = False


@transaction.atomic
def submit_turn(*, annotator: User, assignment_id: int, sent: SentTurn) -> TurnResult:
    """Store one utterance and request the next candidates. The same UUID again returns what is stored.

    Raises NotFound for another annotator's dialogue, Invalid for the text, and Refusal: id_in_use (the UUID was sent
    with another text, position or dialogue), out_of_order (an earlier turn is missing), written_elsewhere (this
    position already has a text), lease_gone, not_writable.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    settings = assignment.project.authoring
    if stored := Turn.objects.filter(pk=sent.id).select_related("utterance").first():
        check_repeat(stored, assignment_id=assignment.pk, position=sent.position, text=normalise(sent.text))
        return TurnResult(
            stored, assignment, request_candidates(assignment.dialogue, settings), repeated=True
        )
    text = clean_text(sent.text, settings.max_utterance_length)
    ensure_held(assignment)
    dialogue = assignment.dialogue
    _check_position(dialogue, sent.position)
    turn = _store_turn(assignment, sent, text, _provenance_of(dialogue, sent, text))
    clear_draft(assignment=assignment, position=dialogue.utterance_count)
    return TurnResult(turn, assignment, request_candidates(dialogue, settings))


def _check_position(dialogue: Dialogue, position: int) -> None:
    expected = dialogue.utterance_count
    if position > expected:
        raise Refusal(
            "out_of_order",
            _("Turn %(n)d arrived before turn %(expected)d.") % {"n": position + 1, "expected": expected + 1},
            _("Nothing is lost: the page sends the earlier turn first. If it does not, reload."),
            details={"expected": expected},
        )
    check_unwritten(dialogue, position)


def _provenance_of(dialogue: Dialogue, sent: SentTurn, text: str) -> DerivedProvenance:
    if sent.candidate_set is None:
        return derive_provenance(text, [], None, None)
    sets_of_turn = CandidateSet.objects.filter(dialogue=dialogue, position=sent.position).select_related(
        "request"
    )
    picked = sets_of_turn.filter(pk=sent.candidate_set).first()
    if picked is None:
        raise Invalid(
            _("The candidates that this text names are not of this turn."),
            _("Reload the page."),
            reason="candidate_set",
        )
    if sent.source is not None and not 0 <= sent.source < len(picked.candidates):
        raise Invalid(_("There is no such candidate in the set."), _("Reload the page."), reason="source")
    shown = list(
        sets_of_turn.filter(
            request__context_hash=picked.request.context_hash, request__wanted_at__isnull=False
        )
    )
    return derive_provenance(text, shown or [picked], picked, sent.source)


def _store_turn(assignment: Assignment, sent: SentTurn, text: str, provenance: DerivedProvenance) -> Turn:
    utterance = _create_utterance(assignment.dialogue, sent.position, text, _fields_of(provenance))
    return Turn.objects.create(
        id=sent.id,
        assignment=assignment,
        dialogue=assignment.dialogue,
        utterance=utterance,
        position=sent.position,
        text=text,
        active_ms=sent.active_ms,
        idle_ms=sent.idle_ms,
        trace=list(sent.trace)[:MAX_TRACE],
    )


def _fields_of(provenance: DerivedProvenance | Provenance) -> dict[str, Any]:
    return {name: getattr(provenance, name) for name in PROVENANCE}


def _create_utterance(dialogue: Dialogue, position: int, text: str, provenance: dict[str, Any]) -> Utterance:
    """Append an utterance to the dialogue."""
    utterance = Utterance.objects.create(
        dialogue=dialogue, position=position, speaker=SPEAKERS[position % 2], text=text, **provenance
    )
    _set_utterance_count(dialogue, position + 1)
    return utterance


def _set_utterance_count(dialogue: Dialogue, count: int) -> None:
    dialogue.utterance_count = count
    dialogue.save(update_fields=["utterance_count"])


@transaction.atomic
def undo_turn(*, annotator: User, assignment_id: int, turn_id: UUID) -> TurnResult:
    """Undo the last turn; its text returns to the draft. The same turn again returns the same result.

    Raises Invalid for a turn of another dialogue, and Refusal: not_last, lease_gone, not_writable.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    turn = Turn.objects.filter(pk=turn_id, assignment=assignment).select_related("utterance").first()
    if turn is None:
        raise Invalid(_("There is no such turn in this dialogue."), _("Reload the page."), reason="turn")
    if turn.undone_at is None:
        ensure_held(assignment)
        if turn.position != assignment.dialogue.utterance_count - 1:
            raise Refusal(
                "not_last",
                _("Only the last turn can be undone."),
                _("Reload the page to see what is stored."),
            )
        _remove_turns(assignment.dialogue, [turn])
        restore_draft(assignment=assignment, turn=turn)
    request = request_candidates(assignment.dialogue, assignment.project.authoring)
    return TurnResult(turn, assignment, request)


def _remove_turns(dialogue: Dialogue, turns: Sequence[Turn]) -> None:
    """Delete the utterances of these turns. Each turn takes over the provenance of its utterance."""
    for turn in turns:
        for name, value in _fields_of(turn.provenance).items():
            setattr(turn, name, value)
        turn.utterance, turn.undone_at = None, timezone.now()
    Turn.objects.bulk_update(turns, ["utterance", "undone_at", *PROVENANCE])
    positions = [turn.position for turn in turns]
    Utterance.objects.filter(dialogue=dialogue, position__in=positions).delete()
    _set_utterance_count(dialogue, min(positions))


@transaction.atomic
def reset_dialogue(*, annotator: User, assignment_id: int) -> list[UUID]:
    """Undo every turn. Returns their ids; `restore_turns` takes them to bring the turns back."""
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    ensure_held(assignment)
    live = Turn.objects.filter(dialogue=assignment.dialogue, undone_at=None)
    turns = list(live.select_related("utterance").order_by("position"))
    if turns:
        _remove_turns(assignment.dialogue, turns)
        clear_draft(assignment=assignment, position=0)
        record(
            assignment, kind="reset", project=assignment.project, actor=annotator, data={"turns": len(turns)}
        )
    return [turn.pk for turn in turns]


@transaction.atomic
def restore_turns(
    *, annotator: User, assignment_id: int, turn_ids: Sequence[UUID]
) -> CandidateRequest | None:
    """Bring back what a reset removed, as long as nothing new was written. Safe to repeat.

    Raises Refusal: written_since, lease_gone, not_writable.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    ensure_held(assignment)
    turns = list(Turn.objects.filter(pk__in=turn_ids, assignment=assignment).order_by("position"))
    if not all(turn.undone_at is None for turn in turns):
        _check_nothing_written_since(assignment.dialogue, turns)
        _write_again(assignment.dialogue, turns)
        record(
            assignment,
            kind="restore",
            project=assignment.project,
            actor=annotator,
            data={"turns": len(turns)},
        )
    return request_candidates(assignment.dialogue, assignment.project.authoring)


def _check_nothing_written_since(dialogue: Dialogue, turns: Sequence[Turn]) -> None:
    if dialogue.utterance_count or [turn.position for turn in turns] != list(range(len(turns))):
        raise Refusal("written_since", _("Something new was written since the reset."), _("Undo that first."))


def _write_again(dialogue: Dialogue, turns: Sequence[Turn]) -> None:
    """Create the utterances of undone turns again. Each utterance takes over the provenance of its turn."""
    for turn in turns:
        turn.utterance = _create_utterance(dialogue, turn.position, turn.text, _fields_of(turn))
        turn.candidate_set, turn.action, turn.source, turn.edit_distance = None, "", None, None
        turn.undone_at = None
    Turn.objects.bulk_update(turns, ["utterance", "undone_at", *PROVENANCE])
