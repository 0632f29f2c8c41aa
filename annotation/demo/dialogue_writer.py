"""Writes the demo dialogues through the services that people use, then backdates them.

The candidates come from a file instead of a worker: the first start of the demo needs no model and little time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final
from uuid import UUID, uuid5

from django.utils import timezone

from accounts.models import User
from annotation.authoring.models import Draft, Turn
from annotation.authoring.services.completion import finish_dialogue
from annotation.authoring.services.turns import SentTurn, submit_turn
from annotation.demo.dialogue_scripts import Script, ScriptLine
from annotation.expert_review.models import ExpertReview
from annotation.expert_review.services import Remark, submit_verdict
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.services.assignment import save_for_later
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import CandidateSet, Dialogue
from generation.models import CandidateRequest, RequestState
from projects.models import Event, Project

NAMESPACE: Final = UUID("5f0f5c52-66a4-4a6c-a5e5-3c1a2f1d9a57")
VERSION: Final = "demo data, not a model's"
KEEP_OPEN: Final = timedelta(days=14)
READY_SHARE, ON_THE_WAY_SHARE = 0.55, 0.15
# Seconds a turn takes, by its action.
PACES: Final[Mapping[str, tuple[float, float]]] = {
    "": (25, 60),
    "select": (6, 14),
    "revise": (12, 35),
    "rewrite": (20, 55),
}


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a turn: when it was stored, and the milliseconds spent on it before."""

    stored: datetime
    active_ms: int
    idle_ms: int


def script_id(script: Script, what: object) -> UUID:
    return uuid5(NAMESPACE, f"{script.key}:{what}")


def write_dialogue(
    script: Script, *, author: User, expert: User | None, project: Project, others: Sequence[Sequence[str]]
) -> Assignment:
    """Claim and write one dialogue, then finish or save it. others: the model's candidates by turn. Safe to repeat."""
    dice = Random(script.key)
    assignment = claim_next_task(annotator=author, project=project, claim_id=script_id(script, "claim"))
    times = _times(script, dice)
    candidate_sets: list[CandidateSet | None] = []
    request: CandidateRequest | None = None
    for place, (line, when) in enumerate(zip(script.lines, times, strict=True)):
        shown = _store_candidates(request, line, others[place - 1], dice) if request else None
        candidate_sets.append(shown)
        sent = _turn_to_send(script, place, line, shown, when)
        request = submit_turn(annotator=author, assignment_id=assignment.pk, sent=sent).request
    _finish_or_save(script, assignment, author)
    _backdate(assignment, candidate_sets, times, dice)
    if expert:
        _review(script, assignment.dialogue_id, expert, times[-1].stored, dice)
    assignment.refresh_from_db()
    return assignment


def _times(script: Script, dice: Random) -> list[Times]:
    """The times of all turns in order. The last turn is `days_ago`, or within the last quarter of an hour."""
    begun = timezone.now() - timedelta(
        days=script.days_ago, hours=dice.uniform(0, 4) if script.days_ago else 0
    )
    at, times = begun, []
    for line in script.lines:
        active = dice.uniform(*PACES[line.action])
        idle = dice.uniform(20, 150) if dice.random() < 0.12 else 0.0
        at += timedelta(seconds=active + idle)
        times.append(Times(at, round(active * 1000), round(idle * 1000)))
    excess = max(timedelta(), at - timezone.now() + timedelta(minutes=2))
    return [Times(turn.stored - excess, turn.active_ms, turn.idle_ms) for turn in times]


def _store_candidates(
    request: CandidateRequest, line: ScriptLine, others: Sequence[str], dice: Random
) -> CandidateSet:
    """Store a set in random order, as generation.worker does. It includes the source of the line."""
    texts = [text for text in others if text not in (line.source, line.text)]
    texts = [*([line.source] if line.source else []), *texts][: request.count]
    dice.shuffle(texts)
    candidate_set = CandidateSet.objects.create(
        dialogue_id=request.dialogue_id,
        position=request.position,
        candidates=[
            {"text": text, "seed": n, "tokens": len(text), "logprob": None, "score": None}
            for n, text in enumerate(texts)
        ],
        model_version=VERSION,
        sampling=request.sampling,
        seed=request.seed,
    )
    CandidateRequest.objects.filter(pk=request.pk).update(
        state=RequestState.DONE, candidate_set=candidate_set
    )
    return candidate_set


def _turn_to_send(
    script: Script, place: int, line: ScriptLine, shown: CandidateSet | None, when: Times
) -> SentTurn:
    texts = [candidate["text"] for candidate in shown.candidates] if shown else []
    return SentTurn(
        id=script_id(script, place),
        position=place,
        text=line.text,
        candidate_set=shown.pk if shown else None,
        source=texts.index(line.source) if line.source else None,
        active_ms=when.active_ms,
        idle_ms=when.idle_ms,
    )


def _finish_or_save(script: Script, assignment: Assignment, author: User) -> None:
    if script.state == "saved":
        save_for_later(annotator=author, assignment_id=assignment.pk)
    elif script.state != "open":
        finish_dialogue(annotator=author, assignment_id=assignment.pk)
        # The dialogue has no next turn that needs candidates.
        CandidateRequest.objects.filter(dialogue=assignment.dialogue_id, state=RequestState.QUEUED).update(
            state=RequestState.CANCELLED
        )


def _review(script: Script, dialogue_id: int, expert: User, finished: datetime, dice: Random) -> None:
    verdict = "pass" if script.state == "passed" else "veto"
    remarks = [Remark(turn - 1, words) for turn, words in script.remarks.items()]
    review = submit_verdict(
        reviewer=expert,
        dialogue_id=dialogue_id,
        review_id=script_id(script, "review"),
        verdict=verdict,
        reason=script.reason,
        remarks=remarks,
    )
    at = min(finished + timedelta(hours=dice.uniform(1, 20)), timezone.now() - timedelta(minutes=5))
    ExpertReview.objects.filter(pk=review.pk).update(created_at=at, decided_at=at)
    Event.objects.filter(subject_type="dialogues.dialogue", subject_id=dialogue_id, kind="review").update(
        at=at
    )


def _backdate(
    assignment: Assignment,
    candidate_sets: Iterable[CandidateSet | None],
    times: Sequence[Times],
    dice: Random,
) -> None:
    begun, ended = times[0].stored - timedelta(milliseconds=times[0].active_ms), times[-1].stored
    turns = list(Turn.objects.filter(assignment=assignment).order_by("position"))
    for turn, when in zip(turns, times, strict=True):
        turn.stored_at = when.stored
    Turn.objects.bulk_update(turns, ["stored_at"])
    requests = {request.position: request for request in assignment.dialogue.candidate_requests.all()}
    shown = [candidate_set for candidate_set in candidate_sets if candidate_set]
    for candidate_set in shown:
        wanted = times[candidate_set.position - 1].stored
        request = requests[candidate_set.position]
        _backdate_request(request, wanted, dice)
        candidate_set.created_at = request.ended_at or wanted
    CandidateRequest.objects.bulk_update(
        [requests[candidate_set.position] for candidate_set in shown],
        ["created_at", "wanted_at", "started_at", "ended_at"],
    )
    CandidateSet.objects.bulk_update(shown, ["created_at"])
    _backdate_rows(assignment, begun, ended)


def _backdate_request(request: CandidateRequest, wanted: datetime, dice: Random) -> None:
    """Some candidates were ready before the turn, some were being generated, and for the others people waited."""
    luck, took = dice.random(), timedelta(seconds=dice.uniform(0.3, 1.1))
    if luck < READY_SHARE:
        created = wanted - took - timedelta(seconds=dice.uniform(0.5, 4))
    elif luck < READY_SHARE + ON_THE_WAY_SHARE:
        created = wanted - took / 2
    else:
        created = wanted
    request.created_at, request.wanted_at = created, wanted
    request.started_at, request.ended_at = created, created + took


def _backdate_rows(assignment: Assignment, begun: datetime, ended: datetime) -> None:
    assignment.refresh_from_db()
    is_finished = assignment.state == AssignmentState.SUBMITTED
    Assignment.objects.filter(pk=assignment.pk).update(
        claimed_at=begun,
        touched_at=ended,
        submitted_at=ended if is_finished else None,
        lease_until=max(assignment.lease_until, timezone.now() + KEEP_OPEN),
    )
    Dialogue.objects.filter(pk=assignment.dialogue_id).update(
        created_at=begun, finished_at=ended if is_finished else None
    )
    Draft.objects.filter(assignment=assignment).update(saved_at=ended)
    for kind, key in (
        ("annotation.assignment", assignment.pk),
        ("dialogues.dialogue", assignment.dialogue_id),
    ):
        Event.objects.filter(subject_type=kind, subject_id=key).update(at=ended)
