"""What participants of studies think of a model of this server."""

from dataclasses import dataclass

from accounts.models import User
from assessment.report.selectors.report_cache import cached_reports
from assessment.report.selectors.run_report import RunReport
from assessment.sessions.models.runs import Run
from assessment.setup.models import AssessmentSettings
from assessment.systems.models import System
from generation.models import Generator
from measures.estimate import Estimate
from projects.roles import Capability
from projects.selectors import capabilities_of


@dataclass(frozen=True, slots=True)
class ModelAssessment:
    """The standardised overall score of the system that a model is in a run. n of the score: ratings.

    place: from 1, among the `systems` with an overall score; None without one.
    """

    run: Run
    system: System
    overall: Estimate
    place: int | None
    systems: int


def assessments_of(user: User, generator: Generator) -> list[ModelAssessment]:
    """The runs in which people rated the model, newest first, of the studies whose report the user may read."""
    systems = System.objects.filter(generator=generator).select_related("project").order_by("-pk")
    return [
        assessment
        for system in systems
        if Capability.READ_STATISTICS in capabilities_of(user, system.project)
        for assessment in _assessments_of_system(system)
    ]


def _assessments_of_system(system: System) -> list[ModelAssessment]:
    settings = AssessmentSettings.objects.get(project=system.project)
    found = (_assessment(report, system) for report in cached_reports(system.project, settings))
    return [each for each in found if each][::-1]


def _assessment(report: RunReport, system: System) -> ModelAssessment | None:
    own = next((each for each in report.scores if each.system == system.name and each.overall.n), None)
    if own is None:
        return None
    ranked = [each.system for each in report.scores if each.overall.value is not None]
    place = ranked.index(system.name) + 1 if system.name in ranked else None
    return ModelAssessment(report.run, system, own.overall, place, len(ranked))
