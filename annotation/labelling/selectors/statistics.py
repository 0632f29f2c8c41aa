"""All numbers about a labelling project's work, and whether the stored ones are still those of today."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from django.utils.translation import gettext as _

from annotation.labelling.models.labels import FinalLabel, LabellingSettings, Submission
from annotation.labelling.models.statistics import LabelStatistics
from annotation.labelling.selectors.question_statistics import question_statistics
from annotation.labelling.selectors.ratings import rated_questions, rating_table
from annotation.labelling.selectors.uch_statistics import STEPS, uch_statistics
from annotation.labelling.selectors.workload import final_labels, work_by_annotator
from common.refusals import NotFound
from jobs.models import Job
from projects.models import Project, Protocol

JOB_KIND = "agreement"
AT_ONCE = 2000  # submissions that are computed while somebody waits for the page


class Numbers(TypedDict):
    """Plain JSON; the functions that make the parts say what is in them."""

    questions: list[dict[str, Any]]
    finals: dict[str, Any]
    people: list[dict[str, Any]]
    uch: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class DataExtent:
    """What there is to compute from."""

    schema: int | None
    submissions: int
    final_labels: int


@dataclass(frozen=True, slots=True)
class LatestStatistics:
    """The stored numbers, what there is now, and the job that computes them anew, if one lives or failed last."""

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
        return self.now.submissions < AT_ONCE


def check_labelling_protocol(project: Project) -> LabellingSettings:
    """Raises NotFound for a project of another protocol."""
    if project.protocol != Protocol.LABELLING:
        raise NotFound(
            _("“%(slug)s” is no labelling project.") % {"slug": project.slug},
            _("Its numbers are at statistics/."),
        )
    return project.labelling


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
    project: Project, told: Callable[[int, int], object] = lambda done, total: None
) -> Numbers:
    """told: called with the steps done and all steps, where it is safe to stop."""
    asked = rated_questions(project)
    total, done = len(asked) + 2 + STEPS, 0

    def went_on() -> None:
        nonlocal done
        done += 1
        told(done, total)

    told(0, total)
    tables, questions = [], []
    for one in asked:
        tables.append(rating_table(project, one))
        questions.append(question_statistics(tables[-1]))
        went_on()
    finals = final_labels(project)
    went_on()
    people = work_by_annotator(project)
    went_on()
    return {
        "questions": questions,
        "finals": finals,
        "people": people,
        "uch": uch_statistics(project, tables, went_on),
    }
