"""Reads from a panel which participants left, so that their places reopen before the assignments expire.

Prolific: https://docs.prolific.com/api-reference/submissions (List submissions, Submission object).
"""

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.models.runs import RunState
from assessment.sessions.services.participants import leave
from projects.models import Project

logger = logging.getLogger(__name__)

PROLIFIC_URL: Final = "https://api.prolific.com"
PAGE_SIZE: Final = 100
MAX_PAGES: Final = 500
TIMEOUT_SECONDS: Final = 20
# Compared without case and with spaces and underscores as hyphens: the API writes TIMED-OUT, its filters TIMED_OUT.
LEFT: Final = frozenset({"returned", "timed-out"})


class PanelError(Exception):
    """The panel did not answer, or not as documented."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One participant's part in a study, as the panel sees it. session: its id there, which the join link carries."""

    participant: str
    session: str
    has_left: bool


class Panel(Protocol):
    def submissions(self, study: str) -> Iterator[Submission]:
        """Every submission of a study. Raises PanelError."""


class Prolific:
    """Prolific's API, version 1."""

    def __init__(self, token: str, url: str = PROLIFIC_URL) -> None:
        self.token = token
        self.url = url.rstrip("/")

    def submissions(self, study: str) -> Iterator[Submission]:
        for page in range(1, MAX_PAGES + 1):
            query = urlencode({"study": study, "page": page, "page_size": PAGE_SIZE})
            content = self._get(f"/api/v1/submissions/?{query}")
            rows = content.get("results")
            if not isinstance(rows, list):
                raise PanelError("the answer has no list “results”")
            yield from (_read_submission(row) for row in rows)
            if len(rows) < PAGE_SIZE:
                return

    def _get(self, path: str) -> dict[str, Any]:
        request = Request(f"{self.url}{path}", headers={"Authorization": f"Token {self.token}"})  # noqa: S310
        try:
            with urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310 (the address is ours)
                content = json.load(response)
        except (URLError, OSError, ValueError) as error:
            raise PanelError(str(error)) from error
        if not isinstance(content, dict):
            raise PanelError("the answer is not an object")
        return content


def _read_submission(row: Any) -> Submission:
    if not isinstance(row, dict):
        raise PanelError("a submission is not an object")
    participant = row.get("participant_id") or row.get("participant")
    if not isinstance(participant, str):
        raise PanelError("a submission names no participant")
    status = str(row.get("status", "")).lower().replace("_", "-").replace(" ", "-")
    return Submission(participant, str(row.get("id", "")), status in LEFT)


def configured_panel() -> Panel | None:
    """The panel whose token is in the environment."""
    token = os.environ.get("PROLIFIC_TOKEN", "")
    return Prolific(token, os.environ.get("PROLIFIC_URL", PROLIFIC_URL)) if token else None


def sync_panel(panel: Panel) -> int:
    """Reopen the places of participants who returned their submission or timed out there. Returns how many.

    Every open run is looked at; a study that the panel cannot answer for is logged and tried again the next time.
    """
    projects = Project.objects.filter(runs__state=RunState.OPEN, archived_at=None).distinct()
    return sum(_sync_study(panel, project, study) for project in projects for study in _studies(project))


def _studies(project: Project) -> list[str]:
    parameters = _held_assignments(project).values_list("participant__parameters__study", flat=True)
    return sorted({study for study in parameters if study})


def _held_assignments(project: Project) -> Any:
    held = (AssignmentState.INVITED, AssignmentState.ACTIVE)
    return Assignment.objects.filter(run__project=project, state__in=held)


def _sync_study(panel: Panel, project: Project, study: str) -> int:
    try:
        left = {(one.participant, one.session) for one in panel.submissions(study) if one.has_left}
    except PanelError as error:
        logger.warning("panel: no submissions of study %s: %s", study, error)
        return 0
    held = (
        _held_assignments(project).filter(participant__parameters__study=study).select_related("participant")
    )
    gone = [one for one in held if _has_left(one, left)]
    for assignment in gone:
        leave(assignment=assignment, reason="left the panel's study")
    return len(gone)


def _has_left(assignment: Assignment, left: set[tuple[str, str]]) -> bool:
    """A participant may have returned one submission and begun another: the session of their link decides."""
    participant = assignment.participant
    session = participant.parameters.get("session")
    if session is None:
        return any(participant.panel_id == panel_id for panel_id, _session in left)
    return (participant.panel_id, session) in left
