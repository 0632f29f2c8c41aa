"""Reads the ratings of a run; imported and live runs alike."""

from collections import defaultdict
from dataclasses import dataclass

from assessment.sessions.models.conversations import Rating, Session, SessionState
from assessment.sessions.models.participants import PAID, Assignment
from assessment.sessions.models.runs import Run
from assessment.setup.models import AssessmentSettings
from assessment.systems.models import Connector
from measures.rated_dialogues import RatedDialogue, RatedDialogues, rated_dialogues


@dataclass(frozen=True, slots=True)
class CountedAssignment:
    """An assignment that ended paid. seconds: how long it took, None if unknown.

    conversations: of any system; ordinary: without the degraded one. Both 0 if a file has no results for it.
    """

    id: int
    participant: int
    seconds: float | None
    conversations: int
    ordinary: int


@dataclass(frozen=True, slots=True)
class RunRatings:
    """The assignments of a run that count, and their rated conversations; participants are ids."""

    run: Run
    assignments: tuple[CountedAssignment, ...]
    dialogues: RatedDialogues


def run_ratings(run: Run, settings: AssessmentSettings) -> RunRatings:
    """The ratings of the assignments that ended paid (completed, or ended by a failure of the systems).

    Assignments in progress and those that participants left are not in it, as in the paper. Three queries.
    """
    sessions = list(
        Session.objects.filter(assignment__run=run, assignment__state__in=PAID)
        .exclude(state=SessionState.VOIDED)
        .order_by("assignment_id", "place", "attempt")
        .values_list("id", "assignment_id", "assignment__participant_id", "system__name", "system__connector")
    )
    scores = _scores_by_session(run)
    rows = [
        RatedDialogue(participant, assignment, system, connector == Connector.DEGRADED, scores[session])
        for session, assignment, participant, system, connector in sessions
        if session in scores
    ]
    statements = settings.statement_list
    table = rated_dialogues(
        rows,
        [statement.name for statement in statements],
        {statement.name for statement in statements if statement.is_reversed},
    )
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for _session, assignment, _participant, _system, connector in sessions:
        counts[assignment][0] += 1
        counts[assignment][1] += connector != Connector.DEGRADED
    return RunRatings(run, _assignments(run, counts), table)


def _scores_by_session(run: Run) -> dict[int, dict[str, float]]:
    scores: dict[int, dict[str, float]] = {}
    ratings = Rating.objects.filter(session__assignment__run=run, session__assignment__state__in=PAID)
    for session, statement, value in (
        ratings.exclude(session__state=SessionState.VOIDED)
        .order_by()
        .values_list("session_id", "statement", "value")
        .iterator(chunk_size=20_000)
    ):
        scores.setdefault(session, {})[statement] = value
    return scores


def _assignments(run: Run, counts: dict[int, list[int]]) -> tuple[CountedAssignment, ...]:
    rows = Assignment.objects.filter(run=run, state__in=PAID).order_by("id")
    return tuple(
        CountedAssignment(
            id,
            participant,
            seconds if seconds is not None or not (begin and end) else (end - begin).total_seconds(),
            *counts[id],
        )
        for id, participant, seconds, begin, end in rows.values_list(
            "id", "participant_id", "duration_seconds", "consented_at", "ended_at"
        )
    )
