"""The assignment of a participant, and where in it they are."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from assessment.sessions.models.conversations import Session, SessionState
from assessment.sessions.models.participants import Assignment, AssignmentState, Participant
from assessment.sessions.models.runs import Run, RunState
from assessment.setup.models import AssessmentSettings
from common.refusals import NotFound
from projects.models import Project


class Step(StrEnum):
    """What a participant does next. The last ones are the outcomes of an assignment."""

    CONSENT = "consent"
    FULL = "full"
    CLOSED = "closed"
    TOPIC = "topic"
    CHAT = "chat"
    RATING = "rating"
    FEEDBACK = "feedback"
    COMPLETED = "completed"
    SYSTEM_FAILURE = "system_failure"
    TIMED_OUT = "timed_out"
    DECLINED = "declined"
    RETURNED = "returned"


STEPS = {
    SessionState.TOPIC: Step.TOPIC,
    SessionState.CHATTING: Step.CHAT,
    SessionState.RATING: Step.RATING,
}


@dataclass(frozen=True, slots=True)
class Position:
    """Where a participant is. session: the conversation that is not rated yet; place: its number of `places`."""

    step: Step
    session: Session | None = None
    place: int = 0
    places: int = 0

    @property
    def is_replacement(self) -> bool:
        """Whether the conversation replaces one in which the system failed."""
        return self.session is not None and self.session.attempt > 0


def find_participant(project: Project, token: UUID) -> Participant | None:
    return Participant.objects.filter(project=project, token=token).select_related("user").first()


def assignments_of(participant: Participant) -> QuerySet[Assignment]:
    """The participant's own assignments, the newest first; imported ones are left out."""
    own = Assignment.objects.filter(participant=participant, external_id="").order_by("-pk")
    return own.select_related("run__project__assessment", "participant__user")


def assignments_of_member(project: Project, user: User) -> QuerySet[Assignment]:
    """What a project member has taken part in."""
    return Assignment.objects.filter(participant__project=project, participant__user=user, external_id="")


def assignment_in(participant: Participant, run_number: int) -> Assignment:
    """The participant's assignment in a run. Raises NotFound."""
    assignment = assignments_of(participant).filter(run__number=run_number).first()
    if assignment is None:
        raise NotFound(
            _("You do not take part in this study."), _("Use the complete link that you were sent.")
        )
    return assignment


def current_position(assignment: Assignment) -> Position:
    """Where the participant is. One query, or none before the consent."""
    if assignment.state == AssignmentState.INVITED:
        return Position(entry_step(assignment.run))
    if assignment.state != AssignmentState.ACTIVE:
        return Position(Step(assignment.state))
    sessions = latest_attempts(assignment)
    for session in sessions:
        if session.state != SessionState.RATED:
            # A voided session without a replacement is about to end the assignment.
            step = STEPS.get(SessionState(session.state), Step.CHAT)
            return Position(step, session, session.place, len(sessions))
    return Position(Step.FEEDBACK, None, len(sessions), len(sessions))


def entry_step(run: Run) -> Step:
    """Whether a participant who has not begun can begin."""
    if run.state != RunState.OPEN or run.project.archived_at is not None:
        return Step.CLOSED
    return Step.CONSENT if run.open_places > 0 else Step.FULL


def latest_attempts(assignment: Assignment) -> list[Session]:
    """The latest session of each place, in order."""
    sessions = (
        Session.objects.filter(assignment=assignment).select_related("system").order_by("place", "attempt")
    )
    return list({session.place: session for session in sessions}.values())


def completion_code(assignment: Assignment, settings: AssessmentSettings) -> str:
    """The code that tells the panel how the assignment ended; "" if this outcome has none."""
    return str(settings.completion_codes.get(assignment.state, ""))


def return_address(settings: AssessmentSettings, code: str) -> str:
    """Where the last page leads: the configured address with the code; "" if none is configured."""
    return settings.return_url.replace("{code}", code) if settings.return_url else ""
