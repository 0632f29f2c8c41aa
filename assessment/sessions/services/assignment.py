"""Which systems a participant gets, and the places of a run.

Locks are taken in this order: assignment, session, run.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, F, Q

from accounts.models import User
from assessment.sessions.models.conversations import Session, SessionState
from assessment.sessions.models.participants import ASSIGNMENT_MOVES, Assignment, AssignmentState
from assessment.sessions.models.runs import Run
from assessment.sessions.selectors.failing_systems import failing_systems
from assessment.setup.models import AssessmentSettings, TopicMode
from assessment.setup.wording import chat_language, sentences_in
from assessment.systems.models import Connector, System
from common import clock
from dialogues.models import DIALOGUE_MOVES, Dialogue, DialogueState
from projects.models import Project
from projects.transitions import move

# Sessions of these assignments count when systems are balanced.
COUNTED = (AssignmentState.ACTIVE, AssignmentState.COMPLETED)
# A new participant gets a system that failed within this time only if too few others are there.
AVOIDED: Final = timedelta(hours=1)
OPEN_SESSIONS = (SessionState.TOPIC, SessionState.CHATTING, SessionState.RATING)


def expiry(settings: AssessmentSettings) -> datetime:
    """When an assignment expires whose participant acts now."""
    return clock.now() + timedelta(minutes=settings.expires_after_minutes)


def create_sessions(assignment: Assignment, settings: AssessmentSettings) -> list[Session]:
    """The sessions of an assignment that begins. The caller has locked the run."""
    rng = random.Random(f"{assignment.run.seed}:{assignment.seed}")
    systems = choose_systems(assignment.run, settings.ordinary_systems, rng)
    sessions: list[Session] = []
    for place, system in enumerate(systems, start=1):
        used = {session.ice_breaker for session in sessions}
        ice_breaker = choose_ice_breaker(assignment, system, used, rng)
        sessions.append(Session(assignment=assignment, system=system, place=place, ice_breaker=ice_breaker))
    return Session.objects.bulk_create(sessions)


def choose_systems(run: Run, ordinary: int, rng: random.Random) -> list[System]:
    """The ordinary systems with the fewest sessions in the run and one degraded system, shuffled.

    Systems that fail come last. Ties are broken by `rng`. A system comes twice only if the project
    has fewer than `ordinary`.
    """
    usable = System.objects.filter(project=run.project_id, retired_at=None).exclude(
        connector=Connector.IMPORTED
    )
    systems = list(usable.order_by("pk"))
    ranks = _rank_systems(run, systems)
    by_kind: dict[bool, list[System]] = {True: [], False: []}
    for system in systems:
        by_kind[system.is_degraded].append(system)
    chosen = [*_first(by_kind[False], ranks, ordinary, rng), *_first(by_kind[True], ranks, 1, rng)]
    rng.shuffle(chosen)
    return chosen


def _rank_systems(run: Run, systems: Sequence[System]) -> dict[int, tuple[bool, int]]:
    """By key: whether the system fails, then its sessions. Voided sessions do not count, so it would stay first."""
    counts, failing = session_counts(run), failing_systems(systems, within=AVOIDED)
    return {one.pk: (one.pk in failing, counts[one.pk]) for one in systems}


def session_counts(run: Run) -> Counter[int]:
    """How many sessions of the run each system has, by its key: without voided ones and abandoned assignments."""
    counted = Session.objects.filter(assignment__run=run, assignment__state__in=COUNTED)
    rows = counted.exclude(state=SessionState.VOIDED).order_by().values_list("system").annotate(Count("pk"))
    return Counter(dict(rows))


def _first(
    systems: list[System], ranks: Mapping[int, tuple[bool, int]], wanted: int, rng: random.Random
) -> list[System]:
    order = {system.pk: rng.random() for system in systems}
    chosen: list[System] = []
    while systems and len(chosen) < wanted:
        ranked = sorted(systems, key=lambda system: (ranks[system.pk], order[system.pk]))
        chosen += ranked[: wanted - len(chosen)]
    return chosen


def choose_ice_breaker(
    assignment: Assignment, system: System, used: Collection[str], rng: random.Random
) -> str:
    """A sentence to begin with; "" if participants choose their topic.

    It is in the language of the participant and not one of `used`, as long as there are such sentences. Systems
    without a persona get a sentence of another one, so that its absence does not tell them apart.
    """
    if assignment.run.topic_mode != TopicMode.ICE_BREAKER:
        return ""
    pools = _ice_breaker_pools(assignment.run.project, system)
    language = chat_language(assignment.run.project.language, assignment.participant.language)
    fitting = [sentences_in(language, pool) for pool in pools]
    fresh = [[one for one in pool if one not in used] for pool in fitting]
    chosen = next(filter(None, [*fresh, *fitting, *pools]), [])
    return str(rng.choice(chosen)) if chosen else ""


def _ice_breaker_pools(project: Project, system: System) -> list[list[str]]:
    """Where ice-breakers come from, the preferred sentences first."""
    listed: list[str] = project.assessment.ice_breakers
    return [listed] if listed else [system.persona, _every_persona(project.pk)]


def _every_persona(project_id: int) -> list[str]:
    personas = System.objects.filter(project=project_id, retired_at=None).order_by("pk")
    return [str(sentence) for persona in personas.values_list("persona", flat=True) for sentence in persona]


def end_assignment(
    assignment: Assignment, *, to: AssignmentState, actor: User | None = None, reason: str = ""
) -> None:
    """End a locked assignment. Its place reopens unless it was completed; unfinished dialogues are abandoned."""
    had_place = assignment.state == AssignmentState.ACTIVE
    move_assignment(assignment, to, actor=actor, reason=reason, ended_at=clock.now(), expires_at=None)
    if to == AssignmentState.COMPLETED:
        return
    move_dialogues(assignment, DialogueState.WRITING, DialogueState.ABANDONED)
    if had_place:
        reopened = Run.objects.filter(pk=assignment.run_id, open_places__lt=F("places"))
        reopened.update(open_places=F("open_places") + 1)


def move_assignment(
    assignment: Assignment,
    to: AssignmentState,
    *,
    actor: User | None = None,
    reason: str = "",
    **changes: Any,
) -> None:
    """Move an assignment, with an event that names its participant."""
    move(
        assignment,
        to=to,
        moves=ASSIGNMENT_MOVES,
        project=_project_of(assignment),
        actor=actor,
        reason=reason,
        data={"participant": assignment.participant_id},
        **changes,
    )


def move_dialogues(assignment: Assignment, before: DialogueState, after: DialogueState) -> None:
    """Move the dialogues of sessions that are not over, when the assignment ends or is taken up again."""
    of_open_sessions = Q(
        assessment_session__assignment=assignment, assessment_session__state__in=OPEN_SESSIONS
    )
    for dialogue in list(Dialogue.objects.filter(of_open_sessions, state=before)):
        move(dialogue, to=after, moves=DIALOGUE_MOVES, project=_project_of(assignment))


def _project_of(assignment: Assignment) -> Project:
    return assignment.run.project
