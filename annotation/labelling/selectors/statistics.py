"""The statistics of a labelling project, and whether the stored ones are up to date."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from django.utils.translation import gettext as _

from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.labelling.models.statistics import LabelStatistics
from annotation.labelling.selectors.question_statistics import question_statistics
from annotation.labelling.selectors.ratings import rated_questions, rating_table
from annotation.labelling.selectors.uch_statistics import STEPS, uch_statistics
from annotation.labelling.selectors.workload import final_labels, work_by_annotator
from common.refusals import NotFound
from jobs.models import Job
from projects.models import Project, Protocol

JOB_KIND = "agreement"
SMALL = 2000  # submissions; below this, statistics are computed within the request


class Numbers(TypedDict):
    """Plain JSON; the functions that compute the parts document their keys."""

    questions: list[dict[str, Any]]
    finals: dict[str, Any]
    people: list[dict[str, Any]]
    uch: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class DataExtent:
    """The size of the data that statistics are computed from."""

    schema: int | None
    submissions: int
    final_labels: int


@dataclass(frozen=True, slots=True)
class LatestStatistics:
    """The stored statistics, the current extent of the data, and the project's last job, if any."""

    row: LabelStatistics | None
    now: DataExtent
    job: Job | None

    @property
    def is_current(self) -> bool:
        return self.row is not None and stored_extent(self.row) == self.now

    @property
    def came_since(self) -> int:
        return max(0, self.now.submissions - (self.row.submissions if self.row else 0))

    @property
    def is_small(self) -> bool:
        return self.now.submissions < SMALL


def check_labelling_protocol(project: Project) -> None:
    """Raise NotFound for a project of another protocol."""
    if project.protocol != Protocol.LABELLING:
        raise NotFound(
            _("“%(slug)s” is not a labelling project.") % {"slug": project.slug},
            _("Its statistics are at statistics/."),
        )


def current_extent(project: Project) -> DataExtent:
    return DataExtent(
        project.labelling.schema_id,
        Submission.objects.filter(project=project).count(),
        FinalLabel.objects.filter(project=project, superseded_at=None).count(),
    )


def stored_extent(row: LabelStatistics) -> DataExtent:
    return DataExtent(row.schema_id, row.submissions, row.final_labels)


def latest_statistics(project: Project) -> LatestStatistics:
    """Four queries."""
    row = LabelStatistics.objects.filter(project=project, computed_at__isnull=False).first()
    job = Job.objects.filter(project=project, kind=JOB_KIND).order_by("-created_at", "-pk").first()
    return LatestStatistics(row, current_extent(project), job)


def compute_numbers(
    project: Project, report: Callable[[int, int], object] = lambda done, total: None
) -> Numbers:
    """Compute all statistics. report: called with the steps done and the total, at points where it is safe to stop."""
    rated = rated_questions(project)
    total, done = len(rated) + 2 + STEPS, 0

    def advance() -> None:
        nonlocal done
        done += 1
        report(done, total)

    report(0, total)
    tables, questions = [], []
    for rated_question in rated:
        tables.append(rating_table(project, rated_question))
        questions.append(question_statistics(tables[-1]))
        advance()
    finals = final_labels(project)
    advance()
    people = work_by_annotator(project)
    advance()
    return {
        "questions": questions,
        "finals": finals,
        "people": people,
        "uch": uch_statistics(project, tables, advance),
    }
