"""Writing a dialogue turn by turn (Diamante §2.1). Every function is one action of the annotator."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.authoring.models import AuthoringSettings, Turn
from annotation.authoring.services import drafts
from annotation.authoring.services.provenance import Provenance, checked_text, derive, normalised
from annotation.expert_review.selectors import is_being_judged
from annotation.tasks.models.work import ASSIGNMENT_MOVES, Assignment, AssignmentState
from annotation.tasks.services.assignment import hold, lock_assignment
from common.refusals import Invalid, Refusal
from dialogues.models import DIALOGUE_MOVES, CandidateSet, Dialogue, DialogueState, Utterance
from generation import services as generation
from generation.models import CandidateOrder, CandidateRequest
from generation.protocol import Sampling
from generation.services import Wish
from projects.models import Protocol
from projects.transitions import move, record

SPEAKERS = ("A", "B")
MAX_TRACE = 500


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
class Outcome:
    """A stored turn, the request for the next turn's candidates, and whether this was a second send."""

    turn: Turn
    assignment: Assignment
    request: CandidateRequest | None
    repeated: bool = False


@transaction.atomic
def submit_turn(*, annotator: User, assignment_id: int, sent: SentTurn) -> Outcome:
    """Store one utterance and ask for the next candidates. The same UUID again returns what is stored.

    Raises NotFound for another's dialogue, Invalid for the text, and Refusal: out_of_order (an earlier turn is absent),
    written_elsewhere (this position has a text already), lease_gone, not_writable.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    if earlier := Turn.objects.filter(pk=sent.id).first():
        return _sent_before(assignment, earlier, sent)
    settings = assignment.project.authoring
    text = checked_text(sent.text, settings.max_utterance_length)
    hold(assignment)
    dialogue = assignment.dialogue
    _check_position(dialogue, sent.position)
    provenance = _provenance(dialogue, sent, text)
    turn = _store(assignment, sent, text, provenance)
    drafts.clear(assignment=assignment, position=dialogue.utterance_count)
    return Outcome(turn, assignment, ask_for_candidates(dialogue, settings))


def _sent_before(assignment: Assignment, turn: Turn, sent: SentTurn) -> Outcome:
    if turn.assignment_id != assignment.pk:
        raise Invalid(
            _("This submission belongs to another dialogue."), _("Reload the page."), reason="foreign_id"
        )
    if normalised(sent.text) != turn.text:
        raise Refusal(
            "id_in_use",
            _("This submission's id was used for another text, which is stored."),
            _("Send the new text under an id of its own."),
            details={"stored": turn.text},
        )
    request = ask_for_candidates(assignment.dialogue, assignment.project.authoring)
    return Outcome(turn, assignment, request, repeated=True)


def _check_position(dialogue: Dialogue, position: int) -> None:
    expected = dialogue.utterance_count
    if position > expected:
        raise Refusal(
            "out_of_order",
            _("Turn %(n)d arrived before turn %(expected)d.") % {"n": position + 1, "expected": expected + 1},
            _("Nothing is lost: the page sends the earlier turn first. If it does not, reload."),
            details={"expected": expected},
        )
    if position < expected:
        stored = dialogue.utterances.get(position=position).text
        raise Refusal(
            "written_elsewhere",
            _("Turn %(n)d was already written, in another tab or on another device.") % {"n": position + 1},
            _("Your text stays in the input. Reload to go on from what is stored."),
            details={"expected": expected, "stored": stored},
        )


def _provenance(dialogue: Dialogue, sent: SentTurn, text: str) -> Provenance:
    if sent.candidate_set is None:
        return derive(text, [], None, None)
    of_turn = CandidateSet.objects.filter(dialogue=dialogue, position=sent.position).select_related("request")
    picked = of_turn.filter(pk=sent.candidate_set).first()
    if picked is None:
        raise Invalid(
            _("The candidates that this text names are not of this turn."),
            _("Reload the page."),
            reason="candidate_set",
        )
    if sent.source is not None and not 0 <= sent.source < len(picked.candidates):
        raise Invalid(_("There is no such candidate in the set."), _("Reload the page."), reason="source")
    shown = list(
        of_turn.filter(request__context_hash=picked.request.context_hash, request__wanted_at__isnull=False)
    )
    return derive(text, shown or [picked], picked, sent.source)


def _store(assignment: Assignment, sent: SentTurn, text: str, provenance: Provenance) -> Turn:
    dialogue = assignment.dialogue
    came_about = {
        "action": provenance.action,
        "candidate_set": provenance.candidate_set,
        "source": provenance.source,
        "edit_distance": provenance.edit_distance,
    }
    turn = Turn.objects.create(
        id=sent.id,
        assignment=assignment,
        dialogue=dialogue,
        position=sent.position,
        text=text,
        active_ms=sent.active_ms,
        idle_ms=sent.idle_ms,
        trace=list(sent.trace)[:MAX_TRACE],
        **came_about,
    )
    _write_utterance(turn)
    return turn


def _write_utterance(turn: Turn) -> None:
    dialogue = turn.dialogue
    Utterance.objects.create(
        dialogue=dialogue,
        position=turn.position,
        speaker=SPEAKERS[turn.position % 2],
        text=turn.text,
        action=turn.action,
        candidate_set=turn.candidate_set,
        source=turn.source,
        edit_distance=turn.edit_distance,
    )
    _set_count(dialogue, turn.position + 1)


def _set_count(dialogue: Dialogue, count: int) -> None:
    dialogue.utterance_count = count
    dialogue.save(update_fields=["utterance_count"])


def wish_of(settings: AuthoringSettings) -> Wish:
    """What a project's turns ask for. Scores of two models are not comparable, and would tell them apart."""
    sampling = Sampling(
        top_k=settings.top_k,
        temperature=settings.temperature,
        no_repeat_ngram_size=settings.no_repeat_ngram_size,
        max_new_tokens=settings.max_new_tokens,
    )
    alone = settings.second_generator is None
    return Wish(
        generator=settings.generator,
        second=settings.second_generator,
        count=settings.candidates,
        sampling=sampling,
        order=settings.candidate_order if alone else CandidateOrder.RANDOM,
        shows_scores=settings.show_scores and alone,
    )


def ask_for_candidates(
    dialogue: Dialogue, settings: AuthoringSettings, ordinal: int = 0
) -> CandidateRequest | None:
    """The request for the turn that comes next; None at the opening, which people write themselves."""
    if dialogue.utterance_count == 0 or dialogue.state != DialogueState.WRITING:
        return None
    return generation.request_candidates(dialogue=dialogue, wish=wish_of(settings), ordinal=ordinal)


@transaction.atomic
def new_candidates(*, annotator: User, assignment_id: int, ordinal: int) -> CandidateRequest:
    """The turn's set number `ordinal` (0 is the first); asking for the same number again is the same request."""
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    hold(assignment)
    settings = assignment.project.authoring
    if not 0 <= ordinal <= settings.new_sets_per_turn:
        raise Refusal(
            "too_many_sets",
            ngettext(
                "This project allows %(n)d new candidate set per turn.",
                "This project allows %(n)d new candidate sets per turn.",
                settings.new_sets_per_turn,
            )
            % {"n": settings.new_sets_per_turn},
            _("Revise one of the candidates, or write your own reply."),
        )
    request = ask_for_candidates(assignment.dialogue, settings, ordinal)
    if request is None:
        raise Refusal("opening", _("The opening is yours to write."), _("Candidates come after it."))
    return request


@transaction.atomic
def generate_ahead(*, annotator: User, assignment_id: int, text: str) -> CandidateRequest | None:
    """Generate for a resting draft, so that the next candidates are there when it is sent. Never refuses a text."""
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    settings = assignment.project.authoring
    text = text.replace("\r\n", "\n").strip().replace("\0", "")
    if not settings.generate_ahead or not text or len(text) > settings.max_utterance_length:
        return None
    if assignment.state != AssignmentState.ACTIVE:
        return None
    return generation.request_ahead(dialogue=assignment.dialogue, wish=wish_of(settings), draft=text)


@transaction.atomic
def undo_turn(*, annotator: User, assignment_id: int, turn_id: UUID) -> Outcome:
    """Take the last turn back; its text returns to the draft. The same turn again returns the same answer."""
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    turn = Turn.objects.filter(pk=turn_id, assignment=assignment).select_related("dialogue").first()
    if turn is None:
        raise Invalid(_("There is no such turn in this dialogue."), _("Reload the page."), reason="turn")
    settings = assignment.project.authoring
    if turn.undone_at is None:
        hold(assignment)
        if turn.position != assignment.dialogue.utterance_count - 1:
            raise Refusal(
                "not_last",
                _("Only the last turn can be undone."),
                _("Reload the page to see what is stored."),
            )
        _remove(assignment, [turn])
        drafts.restore(assignment=assignment, turn=turn)
    return Outcome(turn, assignment, ask_for_candidates(assignment.dialogue, settings))


def _remove(assignment: Assignment, turns: Sequence[Turn]) -> None:
    positions = [turn.position for turn in turns]
    Turn.objects.filter(pk__in=[turn.pk for turn in turns]).update(undone_at=timezone.now())
    Utterance.objects.filter(dialogue=assignment.dialogue, position__in=positions).delete()
    _set_count(assignment.dialogue, min(positions))


@transaction.atomic
def reset_dialogue(*, annotator: User, assignment_id: int) -> list[UUID]:
    """Undo every turn. Returns their ids, which `restore_turns` takes to bring them back."""
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    hold(assignment)
    turns = list(Turn.objects.filter(dialogue=assignment.dialogue, undone_at=None).order_by("position"))
    if turns:
        _remove(assignment, turns)
        drafts.clear(assignment=assignment, position=0)
        record(
            assignment, kind="reset", project=assignment.project, actor=annotator, data={"turns": len(turns)}
        )
    return [turn.pk for turn in turns]


@transaction.atomic
def restore_turns(
    *, annotator: User, assignment_id: int, turn_ids: Sequence[UUID]
) -> CandidateRequest | None:
    """Bring back what a reset removed, as long as nothing new was written. Safe to repeat."""
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    hold(assignment)
    turns = list(Turn.objects.filter(pk__in=turn_ids, assignment=assignment).order_by("position"))
    if all(turn.undone_at is None for turn in turns):
        return ask_for_candidates(assignment.dialogue, assignment.project.authoring)
    if assignment.dialogue.utterance_count or [turn.position for turn in turns] != list(range(len(turns))):
        raise Refusal("written_since", _("Something new was written since the reset."), _("Undo that first."))
    Turn.objects.filter(pk__in=[turn.pk for turn in turns]).update(undone_at=None)
    for turn in turns:
        turn.dialogue = assignment.dialogue
        _write_utterance(turn)
    record(
        assignment, kind="restore", project=assignment.project, actor=annotator, data={"turns": len(turns)}
    )
    return ask_for_candidates(assignment.dialogue, assignment.project.authoring)


@transaction.atomic
def finish_dialogue(*, annotator: User, assignment_id: int) -> Assignment:
    """Hand the dialogue in, once it has the project's least number of rounds. Safe to repeat."""
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    if assignment.state == AssignmentState.SUBMITTED:
        return assignment
    hold(assignment)
    _check_rounds(assignment)
    now = timezone.now()
    _move_both(
        assignment, AssignmentState.SUBMITTED, DialogueState.FINISHED, submitted_at=now, finished_at=now
    )
    return assignment


def _check_rounds(assignment: Assignment) -> None:
    rounds, needed = assignment.dialogue.utterance_count // 2, assignment.project.authoring.min_rounds
    if rounds < needed:
        raise Refusal(
            "too_short",
            ngettext(
                "The dialogue has %(rounds)d round; it needs %(needed)d.",
                "The dialogue has %(rounds)d rounds; it needs %(needed)d.",
                rounds,
            )
            % {"rounds": rounds, "needed": needed},
            _("Write on, or save it for later."),
            details={"rounds": rounds, "needed": needed},
        )


@transaction.atomic
def take_back(*, annotator: User, assignment_id: int) -> Assignment:
    """Open a finished dialogue again, as long as no expert has judged it. Safe to repeat."""
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    if assignment.state == AssignmentState.ACTIVE:
        return assignment
    if assignment.state != AssignmentState.SUBMITTED:
        raise Refusal(
            "not_finished", _("This dialogue is not finished."), _("Take it up again from your queue.")
        )
    dialogue = Dialogue.objects.select_for_update(no_key=True).get(pk=assignment.dialogue_id)
    if is_being_judged(dialogue):
        raise Refusal(
            "under_review",
            _("An expert is already reading this dialogue."),
            _("Wait for the verdict in your queue."),
        )
    assignment.dialogue = dialogue
    _move_both(assignment, AssignmentState.ACTIVE, DialogueState.WRITING, submitted_at=None, finished_at=None)
    hold(assignment)
    return assignment


def _move_both(
    assignment: Assignment,
    state: AssignmentState,
    dialogue_state: DialogueState,
    *,
    submitted_at: Any,
    finished_at: Any,
) -> None:
    project, actor = assignment.project, assignment.annotator
    move(
        assignment, to=state, moves=ASSIGNMENT_MOVES, project=project, actor=actor, submitted_at=submitted_at
    )
    move(
        assignment.dialogue,
        to=dialogue_state,
        moves=DIALOGUE_MOVES,
        project=project,
        actor=actor,
        finished_at=finished_at,
    )
