"""The next steps of a person in an assessment project, and what it still lacks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, F, Q, Sum
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.models.runs import Run, RunState
from assessment.systems.models import Connector, System
from frontend.pages.projects.steps import NextStep
from projects.models import Project, Protocol
from projects.roles import Capability


@dataclass(frozen=True, slots=True)
class StudyOverview:
    """Of one project. ordinary, degraded: systems that can take part. open_runs: with places: how many are open.

    completed: assignments of all runs. wanted, completed_in_open: of the open runs.
    """

    ordinary: int = 0
    degraded: int = 0
    runs: int = 0
    open_runs: int = 0
    open_places: int = 0
    wanted: int = 0
    completed: int = 0
    completed_in_open: int = 0

    @property
    def is_ready(self) -> bool:
        return bool(self.ordinary and self.degraded)


NOTHING: Final = StudyOverview()
CHAT: Final = "chat"  # the queue of the workers that ask chatbots


def study_overviews(projects: Sequence[Project]) -> dict[int, StudyOverview]:
    """By the key of the project; three queries for any number of assessment projects, none without one."""
    studies = [project for project in projects if project.protocol == Protocol.ASSESSMENT]
    return {project.pk: NOTHING for project in projects} | (_count_parts(studies) if studies else {})


def _count_parts(projects: Sequence[Project]) -> dict[int, StudyOverview]:
    is_open, is_degraded = Q(state=RunState.OPEN), Q(connector=Connector.DEGRADED)
    runs = Run.objects.filter(project__in=projects).order_by().values("project")
    systems = System.objects.filter(project__in=projects, retired_at=None).order_by().values("project")
    done = Assignment.objects.filter(run__project__in=projects, state=AssignmentState.COMPLETED).order_by()
    rows: Iterable[Mapping[str, Any]] = chain(
        runs.annotate(
            runs=Count("pk"),
            open_runs=Count("pk", filter=is_open),
            open_places=Sum("open_places", filter=is_open, default=0),
            wanted=Sum("places", filter=is_open, default=0),
        ),
        systems.exclude(connector=Connector.IMPORTED).annotate(
            ordinary=Count("pk", filter=~is_degraded), degraded=Count("pk", filter=is_degraded)
        ),
        done.values(project=F("run__project")).annotate(
            completed=Count("pk"), completed_in_open=Count("pk", filter=Q(run__state=RunState.OPEN))
        ),
    )
    counts: dict[int, dict[str, int]] = {project.pk: {} for project in projects}
    for row in rows:
        counts[row["project"]] |= {name: value for name, value in row.items() if name != "project"}
    return {project: StudyOverview(**values) for project, values in counts.items()}


def no_chat_worker() -> str:
    return _(
        "No worker for chats is running, so no chatbot replies. Ask whoever runs this server to start one."
    )


def study_steps(project: Project, granted: frozenset[Capability], seen: StudyOverview) -> list[NextStep]:
    """In order of urgency; the first one is the next action."""
    steps = []
    if project.archived_at:
        return [_report(project, seen)] if Capability.READ_STATISTICS in granted and seen.completed else []
    if Capability.CONFIGURE in granted and not seen.is_ready and not seen.completed:
        steps.append(_systems(project, seen))
    if Capability.CONFIGURE in granted and seen.is_ready and not seen.open_runs:
        steps.append(_run(project, seen))
    if Capability.READ_STATISTICS in granted and seen.open_runs:
        steps.append(_follow(project, seen))
    if Capability.READ_STATISTICS in granted and seen.completed:
        steps.append(_report(project, seen))
    if Capability.SEE in granted and seen.open_places:
        steps.append(_take_part(project))
    return steps


def _systems(project: Project, seen: StudyOverview) -> NextStep:
    if seen.ordinary:
        why = _("The degraded system is missing, which the reliability test needs.")
    else:
        why = _("There is no chatbot to judge yet.")
    return NextStep(
        _("Systems"), why, _("Add a system"), reverse("systems", args=[project.slug]), "chip", "s"
    )


def _run(project: Project, seen: StudyOverview) -> NextStep:
    why = _("No run is open: nobody can take part.") if seen.runs else _("There is no run yet.")
    return NextStep(_("Runs"), why, _("Open a run"), reverse("runs", args=[project.slug]), "layers", "r")


def _follow(project: Project, seen: StudyOverview) -> NextStep:
    why = ngettext(
        "%(n)s participant has finished; %(all)s are wanted.",
        "%(n)s participants have finished; %(all)s are wanted.",
        seen.completed_in_open,
    ) % {"n": intcomma(seen.completed_in_open), "all": intcomma(seen.wanted)}
    note = _("%(n)s of %(all)s") % {"n": intcomma(seen.completed_in_open), "all": intcomma(seen.wanted)}
    return NextStep(_("Runs"), why, _("Runs"), reverse("runs", args=[project.slug]), "layers", "r", note)


def _report(project: Project, seen: StudyOverview) -> NextStep:
    why = ngettext(
        "Which chatbots are better, after %(n)s participant.",
        "Which chatbots are better, after %(n)s participants.",
        seen.completed,
    ) % {"n": intcomma(seen.completed)}
    url = reverse("assessment_report", args=[project.slug])
    return NextStep(_("Report"), why, _("Report"), url, "chart", "s")


def _take_part(project: Project) -> NextStep:
    why = _("Chat with the chatbots yourself and rate them, as participants do.")
    return NextStep(
        _("Take part"), why, _("Take part"), reverse("take_part", args=[project.slug]), "chat", "t"
    )
