"""Keeps the last reports of this process, since a big run takes seconds and a page asks for it again and again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Final, TypeVar

from django.db.models import Count, Max

from assessment.report.selectors.conversations import ConversationLength, conversation_lengths
from assessment.report.selectors.run_report import RunReport, run_report
from assessment.sessions.models.participants import PAID, Assignment
from assessment.sessions.models.runs import Run
from assessment.setup.models import AssessmentSettings
from assessment.systems.models import System
from projects.models import Project

KEPT: Final = 24  # reports; the arrays of one with 5,000 participants take some 10 MB

Result = TypeVar("Result")
_kept: OrderedDict[Hashable, Any] = OrderedDict()
_lock = Lock()


def cached_reports(
    project: Project, settings: AssessmentSettings, threshold: float | None = None
) -> list[RunReport]:
    """The reports of the project's runs in order; see run_report. Two queries if nothing has changed."""
    versions = _run_versions(project)
    names = repr((settings.statements, settings.significance, settings.ordinary_systems, _systems(project)))
    return [
        _keep(
            ("report", run.pk, versions.get(run.pk), names, threshold),
            lambda run=run: run_report(run, settings, threshold),  # type: ignore[misc]
        )
        for run in Run.objects.filter(project=project).order_by("number")
    ]


def cached_lengths(run: Run) -> list[ConversationLength]:
    """See conversation_lengths."""
    version = _run_versions(run.project).get(run.pk)
    return _keep(("lengths", run.pk, version), lambda: conversation_lengths(run))


def _run_versions(project: Project) -> dict[int, tuple[Any, ...]]:
    """What changes whenever the ratings of a run do: an assignment counts once it ended, and then stays as it is."""
    rows = (
        Assignment.objects.filter(run__project=project, state__in=PAID)
        .order_by()
        .values_list("run_id")
        .annotate(n=Count("id"), last=Max("id"), ended=Max("ended_at"))
    )
    return {run: tuple(version) for run, *version in rows}


def _systems(project: Project) -> list[tuple[Any, ...]]:
    return list(System.objects.filter(project=project).order_by("id").values_list("id", "name", "connector"))


def _keep(key: Hashable, compute: Callable[[], Result]) -> Result:
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            found: Result = _kept[key]
            return found
    result = compute()
    with _lock:
        _kept[key] = result
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return result
