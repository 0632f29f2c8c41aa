"""Runs and their progress, for managers."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from assessment.sessions.models.conversations import Session, SessionState, Turn
from assessment.sessions.models.participants import Assignment, AssignmentState, Participant
from assessment.sessions.models.runs import Run
from assessment.systems.models import System
from common.refusals import NotFound
from projects.models import Project


def runs_of(project: Project) -> QuerySet[Run]:
    """The runs of a project, the newest first."""
    return Run.objects.filter(project=project).select_related("project").order_by("-number")


def run_in(project: Project, number: int) -> Run:
    """One run of the project. Raises NotFound."""
    run = runs_of(project).filter(number=number).first()
    if run is None:
        raise NotFound(
            _("This project has no run %(number)d.") % {"number": number}, _("Choose a run from the list.")
        )
    return run


@dataclass(frozen=True, slots=True)
class SystemProgress:
    """Sessions of a system in a run. open: of participants who are at it; those of people who left do not count."""

    system: System
    rated: int
    open: int
    voided: int


@dataclass(frozen=True, slots=True)
class RunProgress:
    """participants: by state of their assignment; every state is present."""

    participants: dict[AssignmentState, int]
    systems: list[SystemProgress]

    @property
    def total(self) -> int:
        return sum(self.participants.values())


def run_progress(run: Run) -> RunProgress:
    """How far a run is. Three queries, whatever its size."""
    return RunProgress(participant_counts([run])[run.pk], _system_progress(run))


def participant_counts(runs: Sequence[Run]) -> dict[int, dict[AssignmentState, int]]:
    """How many participants of each run are in each state, by the key of the run; one query."""
    counts = {run.pk: dict.fromkeys(AssignmentState, 0) for run in runs}
    rows = (
        Assignment.objects.filter(run__in=runs).order_by().values_list("run", "state").annotate(Count("pk"))
    )
    for run_id, state, count in rows:
        counts[run_id][AssignmentState(state)] = count
    return counts


def _system_progress(run: Run) -> list[SystemProgress]:
    sessions = Session.objects.filter(assignment__run=run).order_by()
    by_system: defaultdict[int, Counter[str]] = defaultdict(Counter)
    columns = ("system", "state", "assignment__state")
    for system, state, assignment, count in sessions.values_list(*columns).annotate(Count("pk")):
        is_over = state in (SessionState.RATED, SessionState.VOIDED)
        if is_over or assignment == AssignmentState.ACTIVE:
            by_system[system][state if is_over else "open"] += count
    systems = System.objects.filter(project=run.project_id).order_by("name")
    return [
        _progress_of(system, by_system[system.pk])
        for system in systems
        if system.pk in by_system or system.retired_at is None
    ]


def _progress_of(system: System, counts: Counter[str]) -> SystemProgress:
    return SystemProgress(system, counts[SessionState.RATED], counts["open"], counts[SessionState.VOIDED])


def participants_of(project: Project, run: Run | None = None, state: str = "") -> QuerySet[Assignment]:
    """The assignments of a project, the newest first."""
    rows = Assignment.objects.filter(run__project=project)
    if run is not None:
        rows = rows.filter(run=run)
    if state:
        rows = rows.filter(state=state)
    return rows.select_related("run", "participant__user").order_by("-pk")


def participant_names(participants: Collection[int]) -> dict[int, str]:
    """What managers call these participants, by their number (the key). One query."""
    rows = Participant.objects.filter(pk__in=participants).select_related("user")
    return {row.pk: row.shown_name for row in rows}


@dataclass(slots=True)
class WritingLog:
    """What stands out in how a participant wrote. It informs; nobody is rejected or paid less because of it."""

    inputs: int = 0
    pasted: int = 0  # inputs with pasted text
    left_page: int = 0  # times
    repeated: int = 0  # inputs equal to an earlier one of the same conversation
    copied: int = 0  # inputs equal to an earlier reply of the chatbot
    rated: int = 0
    voided: int = 0
    seen: dict[int, set[str]] = field(default_factory=dict)
    replies: dict[int, set[str]] = field(default_factory=dict)


def writing_logs(assignments: Iterable[Assignment]) -> dict[int, WritingLog]:
    """The writing log of each assignment, by its key; two queries."""
    logs = {assignment.pk: WritingLog() for assignment in assignments}
    turns = Turn.objects.filter(session__assignment__in=logs).order_by("session_id", "number")
    fields = ("session__assignment", "session", "writing", "input__text", "reply__text")
    for assignment, session, writing, text, reply in turns.values_list(*fields):
        _log_turn(logs[assignment], session, writing, text, reply or "")
    states = Session.objects.filter(assignment__in=logs).order_by()
    for assignment, state, count in states.values_list("assignment", "state").annotate(Count("pk")):
        logs[assignment].rated += count if state == SessionState.RATED else 0
        logs[assignment].voided += count if state == SessionState.VOIDED else 0
    return logs


def _log_turn(log: WritingLog, session: int, writing: dict[str, int], text: str, reply: str) -> None:
    seen, replies = log.seen.setdefault(session, set()), log.replies.setdefault(session, set())
    plain = text.casefold().strip()
    log.inputs += 1
    log.pasted += bool(writing.get("pasted"))
    log.left_page += writing.get("left_page", 0)
    log.repeated += plain in seen
    log.copied += plain in replies
    seen.add(plain)
    if reply:
        replies.add(reply.casefold().strip())


def minutes_of(assignment: Assignment) -> float | None:
    """How long an assignment took, from consent to end; None while it runs."""
    if assignment.duration_seconds is not None:
        return assignment.duration_seconds / 60
    if assignment.consented_at is None or assignment.ended_at is None:
        return None
    return (assignment.ended_at - assignment.consented_at).total_seconds() / 60
