"""Participants enter a run, consent or decline, come back after a pause, and leave."""

import secrets
from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from assessment.sessions.models.participants import Assignment, AssignmentState, Participant
from assessment.sessions.models.runs import Run, RunState
from assessment.sessions.selectors.assignments import assignments_of, entry_step
from assessment.sessions.services.assignment import (
    create_sessions,
    end_assignment,
    expiry,
    move_assignment,
    move_dialogues,
)
from assessment.sessions.services.links import JoinLink, read_link
from assessment.sessions.services.runs import check_systems, lock_run
from assessment.setup.models import AssessmentSettings
from common import clock
from common.refusals import Refusal
from dialogues.models import DialogueState
from projects.models import Project

SEED_BITS: Final = 63
MAX_LANGUAGE: Final = 10
# Assignments that use up one of a participant's runs.
BEGUN: Final = (
    AssignmentState.ACTIVE,
    AssignmentState.COMPLETED,
    AssignmentState.SYSTEM_FAILURE,
    AssignmentState.TIMED_OUT,
    AssignmentState.RETURNED,
)


@transaction.atomic
def enter(*, project: Project, query: Mapping[str, str], language: str) -> Assignment:
    """The assignment of the participant whom a join link names; a new one in state INVITED at the first visit.

    The same link, opened again or on another device, finds the same assignment. Takes no place yet.
    Raises Refusal: those of read_link, run_closed, run_full, took_part.
    """
    settings = AssessmentSettings.objects.select_related("project").get(project=project)
    link = read_link(settings, query)
    participant, is_new = Participant.objects.get_or_create(project=project, panel_id=link.panel_id)
    if is_new or participant.parameters != link.parameters:
        participant.parameters = dict(link.parameters)
        participant.language = language[:MAX_LANGUAGE]
        participant.save(update_fields=["parameters", "language"])
    return _invite(participant, _run_of(project, link, participant), settings)


@transaction.atomic
def take_part(*, user: User, run: Run, language: str) -> Assignment:
    """The assignment of a project member. Raises Refusal: run_closed, run_full, took_part."""
    settings = AssessmentSettings.objects.get(project=run.project)
    participant, _is_new = Participant.objects.get_or_create(
        project=run.project, user=user, defaults={"language": language[:MAX_LANGUAGE]}
    )
    return _invite(participant, run, settings)


def _run_of(project: Project, link: JoinLink, participant: Participant) -> Run:
    """The run of a link: the one that it names, else the participant's own, else the newest open one."""
    runs = Run.objects.filter(project=project).select_related("project").order_by("-number")
    if link.run is not None:
        run = runs.filter(number=link.run).first()
    else:
        own = assignments_of(participant).first()
        run = own.run if own else runs.filter(state=RunState.OPEN).first()
    if run is None:
        raise _closed()
    return run


def _invite(participant: Participant, run: Run, settings: AssessmentSettings) -> Assignment:
    existing = assignments_of(participant).filter(run=run).first()
    if existing is not None:
        return existing
    check_entry(run)
    begun = Assignment.objects.filter(participant=participant, external_id="", state__in=BEGUN).count()
    if begun >= settings.runs_per_participant:
        raise Refusal(
            "took_part",
            _("You have already taken part in this study."),
            _("Thank you. Nothing else is needed from you."),
        )
    seed = secrets.randbits(SEED_BITS)
    Assignment.objects.get_or_create(
        run=run, participant=participant, external_id="", defaults={"seed": seed}
    )
    return assignments_of(participant).get(run=run)


def check_entry(run: Run) -> None:
    """Raise Refusal run_closed or run_full if nobody else can begin."""
    step = entry_step(run)
    if step == "closed":
        raise _closed()
    if step == "full":
        raise Refusal(
            "run_full",
            _("All places of this study are taken."),
            _("A place may become free later: then the same link works again."),
        )


def _closed() -> Refusal:
    return Refusal(
        "run_closed",
        _("This study is not open at the moment."),
        _("Nothing was recorded about you. You can close this page."),
    )


@transaction.atomic
def consent(*, assignment: Assignment, language: str = "") -> Assignment:
    """Begin: take a place and choose the systems. Safe to repeat.

    language: of the participant's pages; empty: as it was when they came.
    Raises Refusal: run_closed, run_full, no_systems, assignment_over.
    """
    assignment = lock_assignment(assignment)
    if assignment.state == AssignmentState.ACTIVE:
        return assignment
    if assignment.state not in (AssignmentState.INVITED, AssignmentState.DECLINED):
        raise assignment_over(assignment)
    run = _enter_place(assignment)
    check_systems(run.project)
    _keep_language(assignment.participant, language)
    now = clock.now()
    _begin(assignment, consented_at=now)
    create_sessions(assignment, _settings_of(assignment))
    return assignment


def _keep_language(participant: Participant, language: str) -> None:
    if language and participant.language != language[:MAX_LANGUAGE]:
        participant.language = language[:MAX_LANGUAGE]
        participant.save(update_fields=["language"])


@transaction.atomic
def decline(*, assignment: Assignment) -> Assignment:
    """Record that the participant does not consent. Safe to repeat. Raises Refusal assignment_over."""
    assignment = lock_assignment(assignment)
    if assignment.state != AssignmentState.DECLINED:
        if assignment.state != AssignmentState.INVITED:
            raise assignment_over(assignment)
        end_assignment(assignment, to=AssignmentState.DECLINED, actor=assignment.participant.user)
    return assignment


@transaction.atomic
def resume(*, assignment: Assignment) -> Assignment:
    """Take up an assignment that timed out, if its run has an open place. Safe to repeat.

    Raises Refusal: run_closed, run_full, assignment_over.
    """
    assignment = lock_assignment(assignment)
    if assignment.state == AssignmentState.ACTIVE:
        return assignment
    if assignment.state != AssignmentState.TIMED_OUT:
        raise assignment_over(assignment)
    _enter_place(assignment)
    _begin(assignment)
    move_dialogues(assignment, DialogueState.ABANDONED, DialogueState.WRITING)
    return assignment


@transaction.atomic
def leave(*, assignment: Assignment, reason: str = "left") -> Assignment:
    """End the assignment because the participant left. Its place reopens. Safe to repeat."""
    assignment = lock_assignment(assignment)
    if assignment.state in (AssignmentState.INVITED, AssignmentState.ACTIVE, AssignmentState.TIMED_OUT):
        actor = assignment.participant.user
        end_assignment(assignment, to=AssignmentState.RETURNED, actor=actor, reason=reason)
    return assignment


def lock_assignment(assignment: Assignment) -> Assignment:
    """The assignment, read again and locked until the end of the transaction. Lock it before its sessions and run."""
    locked = Assignment.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("run__project__assessment", "participant__user").get(pk=assignment.pk)


def assignment_over(assignment: Assignment) -> Refusal:
    """The refusal of an action after the end of the assignment."""
    return Refusal(
        "assignment_over",
        _("Your participation has ended: %(state)s.") % {"state": assignment.get_state_display()},
        _("Reload the page to see what you can do now."),
        details={"state": assignment.state},
    )


def _enter_place(assignment: Assignment) -> Run:
    run = lock_run(assignment.run_id)
    check_entry(run)
    run.open_places -= 1
    run.save(update_fields=["open_places"])
    return run


def _begin(assignment: Assignment, **changes: Any) -> None:
    settings = _settings_of(assignment)
    actor = assignment.participant.user
    changes = {"ended_at": None, "expires_at": expiry(settings), **changes}
    move_assignment(assignment, AssignmentState.ACTIVE, actor=actor, **changes)


def _settings_of(assignment: Assignment) -> AssessmentSettings:
    return assignment.run.project.assessment
