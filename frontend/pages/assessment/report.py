"""The report of an assessment project: what participants think of the systems of one run, and of other runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final
from urllib.parse import urlencode

import numpy as np
from django import forms
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from assessment.report.selectors.conversations import TopicAnswers, revealing_replies, topic_answers
from assessment.report.selectors.report_cache import cached_lengths, cached_reports
from assessment.report.selectors.run_report import RunReport, replications
from assessment.report.serializers import serialize_report
from assessment.sessions.models.runs import Run
from assessment.sessions.selectors.runs import RunProgress, participant_names, run_progress
from assessment.setup.models import AssessmentSettings
from assessment.setup.selectors import assessment_project
from common.refusals import NotFound
from dialogues.models import Dialogue
from frontend.charts import assessment, assessment_people
from frontend.charts import assessment_conversations as conversation_charts
from frontend.charts.chart import Chart
from frontend.charts.files import chart_file, json_file
from frontend.pages.requests import signed_in
from frontend.ui.questions import statement_words
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

PARTICIPANTS_SHOWN: Final = 100  # the download has all of them


class ReportForm(forms.Form):
    """run: its number. threshold: of the reliability test; empty for the project's."""

    run = forms.IntegerField(required=False, min_value=1, widget=forms.Select, label=gettext_lazy("Run"))
    threshold = forms.FloatField(
        required=False,
        min_value=0.0001,
        max_value=1,
        label=gettext_lazy("Passes the reliability test if p <"),
    )


@dataclass
class ReportPage:
    """The reports of a project, one of them chosen, and what the charts need beyond it.

    threshold: of the reliability test; None for the project's. may_read_dialogues: whether the reader may. is_file:
    whether a table is written to a file, where statements keep their names.
    """

    project: Project
    number: int | None
    threshold: float | None
    may_read_dialogues: bool = False
    is_file: bool = False

    @cached_property
    def settings(self) -> AssessmentSettings:
        return AssessmentSettings.objects.get(project=self.project)

    @cached_property
    def words(self) -> dict[str, str]:
        """What the statements are called, by name."""
        return {} if self.is_file else statement_words(self.settings)

    @cached_property
    def reports(self) -> list[RunReport]:
        """Of every run in order."""
        return cached_reports(self.project, self.settings, self.threshold)

    @cached_property
    def report(self) -> RunReport:
        """Of the chosen run, else of the newest with a participant, else of the newest. Raises NotFound."""
        wanted = [report for report in self.reports if report.run.number == self.number]
        if self.number is not None and not wanted:
            raise NotFound(
                _("This project has no run %(number)d.") % {"number": self.number},
                _("Choose a run from the list."),
            )
        filled = [report for report in self.reports if report.participants.all]
        return (wanted or filled or self.reports)[-1]

    @property
    def run(self) -> Run:
        return self.report.run

    @cached_property
    def topic_answers(self) -> list[TopicAnswers]:
        return topic_answers(self.run)

    @cached_property
    def progress(self) -> RunProgress:
        return run_progress(self.run)

    @cached_property
    def has_conversations(self) -> bool:
        """Whether the reader can open conversations of the run."""
        own = Dialogue.objects.filter(assessment_session__assignment__run=self.run)
        return self.may_read_dialogues and own.exists()

    def conversations_of(self, participant: int) -> str:
        """The address of a participant's conversations in the run."""
        query = urlencode({"run": self.run.number, "participant": participant})
        return f"{reverse('dialogues', args=[self.project.slug])}?{query}"

    @property
    def query(self) -> str:
        """The query string that selects the same."""
        threshold = {} if self.threshold is None else {"threshold": f"{self.threshold:g}"}
        return "?" + urlencode({"run": self.run.number, **threshold})


def _draw_progress(page: ReportPage) -> Chart:
    return assessment_people.draw_progress(
        page.report, page.progress.systems, revealing_replies(page.run), page.settings.ordinary_systems
    )


def _tabulate_participants(page: ReportPage) -> Chart:
    names = participant_names([int(str(test.participant)) for test in page.report.tests])
    address = page.conversations_of if page.has_conversations else None
    return assessment_people.tabulate_participants(page.report, names, address)


FIRST: Final[dict[str, Callable[[ReportPage], Chart]]] = {
    "participation": lambda page: assessment_people.tabulate_participation(page.report),
    "reliability": lambda page: assessment_people.draw_reliability(page.report),
    "progress": _draw_progress,
}
SCORES: Final[dict[str, Callable[[ReportPage], Chart]]] = {
    "scores": lambda page: assessment.draw_scores(page.report, page.words),
    "raw-scores": lambda page: assessment.draw_raw_scores(page.report, page.words),
    "significance": lambda page: assessment.draw_significance(page.report),
    "replication": lambda page: assessment.draw_replication(
        replications(page.reports), page.reports, page.words
    ),
    "correlations": lambda page: assessment.tabulate_correlations(page.report, page.words),
}
PEOPLE: Final[dict[str, Callable[[ReportPage], Chart]]] = {
    "agreement": lambda page: assessment_people.draw_agreement(page.report),
    "topics": lambda page: conversation_charts.draw_opinions(page.report, page.topic_answers),
    "topic-changes": lambda page: conversation_charts.draw_topic_changes(page.report, page.topic_answers),
    "chatbot-opinions": lambda page: conversation_charts.tabulate_bot_opinions(page.topic_answers),
    "lengths": lambda page: conversation_charts.tabulate_lengths(page.report, cached_lengths(page.run)),
    "participants": lambda page: _tabulate_participants(page),
}
CHARTS: Final = {**FIRST, **SCORES, **PEOPLE}


@login_required
@require_safe
def report_page(request: HttpRequest, slug: str) -> HttpResponse:
    page, form = _read_request(request, slug)
    context = {"project": page.project, "title": _("Report"), "form": form}
    if not page.reports:
        return render(request, "assessment/report/empty.html", context)
    report = page.report
    *others, people = (draw(page) for draw in PEOPLE.values())
    context |= {
        "page": page,
        "reads_dialogues": page.has_conversations,
        "report": report,
        "runs": [each.run for each in page.reports],
        "verdict": _verdict(report),
        "missing": _what_is_missing(report),
        "states": [(str(state.label), n) for state, n in page.progress.participants.items() if n],
        "first": [draw(page) for draw in FIRST.values()],
        "scores": [draw(page) for draw in SCORES.values()],
        "people": [chart for chart in others if chart.rows],
        "participants": replace(
            people, rows=people.rows[:PARTICIPANTS_SHOWN], links=people.links[:PARTICIPANTS_SHOWN]
        ),
        "more_participants": max(0, len(people.rows) - PARTICIPANTS_SHOWN),
    }
    return render(request, "assessment/report/report.html", context)


def _read_request(request: HttpRequest, slug: str) -> tuple[ReportPage, ReportForm]:
    """Wrong numbers in the query are shown beside their fields and otherwise ignored."""
    user = signed_in(request)
    project = assessment_project(user, slug, Capability.READ_STATISTICS)
    form = ReportForm(request.GET)
    form.is_valid()
    chosen = form.cleaned_data
    reads = Capability.READ_DIALOGUES in capabilities_of(user, project)
    return ReportPage(project, chosen.get("run"), chosen.get("threshold"), reads), form


def _verdict(report: RunReport) -> str:
    """The answer in one sentence; empty without scores."""
    scored = [each for each in report.scores if each.overall.value is not None]
    if not scored:
        return ""
    best = scored[0].system
    if len(scored) == 1:
        return _("%(system)s is the only system with a score.") % {"system": best}
    beaten = [
        test for test in report.pairwise if test.better == best and test.p is not None and test.p < 0.05
    ]
    if not beaten:
        return _("%(best)s is rated best, but not significantly better (p < 0.05) than another system.") % {
            "best": best
        }
    others = len(scored) - 1
    return ngettext(
        "%(best)s is rated best, and significantly better (p < 0.05) than %(beaten)d of %(n)d other system.",
        "%(best)s is rated best, and significantly better (p < 0.05) than %(beaten)d of %(n)d other systems.",
        others,
    ) % {"best": best, "beaten": len(beaten), "n": others}


def _what_is_missing(report: RunReport) -> tuple[str, str] | None:
    """Why there are no scores, and what to do; None if there are some."""
    if report.passed:
        return None
    if not report.participants.all:
        return _("Nobody has finished yet"), _(
            "The report fills as participants complete their assignments. Invite people with the join link of the "
            "run, or import the ratings of a file."
        )
    if not np.isfinite(report.ratings.dialogues.scores).any():
        return _("There are no ratings"), _(
            "The assignments of this run hold no scores of the project's statements. Import a file that has them, or "
            "give the statements their old names in the settings."
        )
    if not report.ratings.dialogues.is_degraded.any():
        return _("Nobody could be tested"), _(
            "This run has no degraded system, so nobody can show that they tell good from bad, and no system gets a "
            "score. Add a degraded system before you open the next run."
        )
    return _("Nobody passed the reliability test"), _(
        "No system gets a score. Wait for more participants, or look below how reliable each one is."
    )


@login_required
@require_safe
def download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    page, _form = _read_request(request, slug)
    if name not in CHARTS or not page.reports:
        raise Http404
    page.is_file = suffix != "svg"
    return chart_file(CHARTS[name](page), f"{slug}-run-{page.run.number}-{name}", suffix)


@login_required
@require_safe
def download_json(request: HttpRequest, slug: str) -> HttpResponse:
    """All runs, as the command and the API give them."""
    page, _form = _read_request(request, slug)
    return json_file(serialize_report(page.reports), f"{slug}-report.json")


urlpatterns = [
    path("p/<slug:slug>/report/", report_page, name="assessment_report"),
    path("p/<slug:slug>/report/report.json", download_json, name="assessment_report_json"),
    path("p/<slug:slug>/report/<slug:name>.<str:suffix>", download, name="assessment_report_download"),
]
