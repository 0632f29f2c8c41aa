"""Who took part: state, completion code, minutes, and what stands out in how they wrote."""

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from assessment.report.selectors.report_cache import cached_reports
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
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of


@dataclass(frozen=True, slots=True)
class TestResult:
    """The reliability test of a participant in a run. p: None if there is nothing to compare."""

    p: float | None
    has_passed: bool

    @property
    def shown_p(self) -> str:
        return "" if self.p is None else f"p = {self.p:.2g}"


@dataclass(frozen=True, slots=True)
class Row:
    """A participant in a run. test: None before they have finished."""

    assignment: Assignment
    name: str
    code: str
    minutes: float | None
    test: TestResult | None
    log: WritingLog
    flags: list[str]


@login_required
@require_safe
def participant_list(request: HttpRequest, slug: str) -> HttpResponse:
    """`?run=` and `?state=` narrow the list."""
    user = signed_in(request)
    project = assessment_project(user, slug, Capability.READ_STATISTICS)
    runs = list(runs_of(project)[:100])
    number = parse_number(request.GET.get("run"))
    run = next((one for one in runs if one.number == number), None)
    state = request.GET.get("state", "")
    state = state if state in AssignmentState.values else ""
    page = keyset_page(participants_of(project, run, state), request.GET.get("before"))
    logs, settings, tests = writing_logs(page.rows), project.assessment, _reliability_tests(project)
    context = {
        "project": project,
        "title": _("Participants"),
        "page": page,
        "rows": [
            _row(
                one,
                logs[one.pk],
                completion_code(one, settings),
                tests.get((one.run_id, one.participant_id)),
            )
            for one in page.rows
        ],
        "reads_dialogues": Capability.READ_DIALOGUES in capabilities_of(user, project),
        "runs": runs,
        "chosen_run": run.number if run else None,
        "states": AssignmentState.choices,
        "chosen_state": state,
        "is_filtered": bool(run or state),
    }
    return render(request, "assessment/manager/participants.html", context)


def _reliability_tests(project: Project) -> dict[tuple[int, int], TestResult]:
    """The reliability test of everybody who has finished, by the key of the run and the number of the participant."""
    return {
        (report.run.pk, int(str(test.participant))): TestResult(test.p, test.passes(report.threshold))
        for report in cached_reports(project, project.assessment)
        for test in report.tests
    }


def _row(assignment: Assignment, log: WritingLog, code: str, test: TestResult | None) -> Row:
    name = assignment.participant.shown_name
    return Row(assignment, name, code, minutes_of(assignment), test, log, _flags(assignment, log))


def _flags(assignment: Assignment, log: WritingLog) -> list[str]:
    """What a manager may want to look at, in words; it rejects nobody."""
    counted = [
        (log.repeated, ngettext("%(n)s message repeated", "%(n)s messages repeated", log.repeated)),
        (log.copied, ngettext("%(n)s copied from the chatbot", "%(n)s copied from the chatbot", log.copied)),
        (log.pasted, ngettext("%(n)s message pasted", "%(n)s messages pasted", log.pasted)),
        (log.left_page, ngettext("left the page once", "left the page %(n)s times", log.left_page)),
        (log.voided, ngettext("%(n)s conversation voided", "%(n)s conversations voided", log.voided)),
    ]
    flags = [text % {"n": intcomma(n)} for n, text in counted if n]
    return [*flags, _("a script")] if assignment.is_scripted else flags


urlpatterns = [path("p/<slug:slug>/participants/", participant_list, name="participants")]
