"""Who took part: state, completion code, minutes, and what stands out in how they wrote."""

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.selectors.assignments import completion_code
from assessment.sessions.selectors.runs import (
    WritingLog,
    minutes_of,
    participants_of,
    runs_of,
    writing_logs,
)
from assessment.setup.selectors import assessment_project
from frontend.pages.requests import signed_in
from frontend.ui.paging import keyset_page, parse_number
from projects.roles import Capability


@dataclass(frozen=True, slots=True)
class Row:
    assignment: Assignment
    name: str
    code: str
    minutes: float | None
    log: WritingLog
    flags: list[str]


@login_required
@require_safe
def participant_list(request: HttpRequest, slug: str) -> HttpResponse:
    """`?run=` and `?state=` narrow the list."""
    project = assessment_project(signed_in(request), slug, Capability.READ_STATISTICS)
    runs = list(runs_of(project)[:100])
    number = parse_number(request.GET.get("run"))
    run = next((one for one in runs if one.number == number), None)
    state = request.GET.get("state", "")
    state = state if state in AssignmentState.values else ""
    page = keyset_page(participants_of(project, run, state), request.GET.get("before"))
    logs, settings = writing_logs(page.rows), project.assessment
    context = {
        "project": project,
        "title": _("Participants"),
        "page": page,
        "rows": [_row(one, logs[one.pk], completion_code(one, settings)) for one in page.rows],
        "runs": runs,
        "chosen_run": run.number if run else None,
        "states": AssignmentState.choices,
        "chosen_state": state,
        "is_filtered": bool(run or state),
    }
    return render(request, "assessment/manager/participants.html", context)


def _row(assignment: Assignment, log: WritingLog, code: str) -> Row:
    participant = assignment.participant
    user = participant.user
    name = user.shown_name if user else participant.panel_id or f"#{participant.pk}"
    return Row(assignment, name, code, minutes_of(assignment), log, _flags(assignment, log))


def _flags(assignment: Assignment, log: WritingLog) -> list[str]:
    """What a manager may want to look at, in words; it rejects nobody."""
    counted = [
        (log.repeated, ngettext("%(n)d message repeated", "%(n)d messages repeated", log.repeated)),
        (log.copied, ngettext("%(n)d copied from the chatbot", "%(n)d copied from the chatbot", log.copied)),
        (log.pasted, ngettext("%(n)d message pasted", "%(n)d messages pasted", log.pasted)),
        (log.left_page, ngettext("left the page once", "left the page %(n)d times", log.left_page)),
        (log.voided, ngettext("%(n)d conversation voided", "%(n)d conversations voided", log.voided)),
    ]
    flags = [text % {"n": n} for n, text in counted if n]
    return [*flags, _("a script")] if assignment.is_scripted else flags


urlpatterns = [path("p/<slug:slug>/participants/", participant_list, name="participants")]
