"""The first page of a project: progress, and the next step for each of the person's roles."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.batch_review.selectors.returned_batches import returned_batches
from annotation.expert_review.selectors import review_counts
from annotation.labelling.selectors.workbench import labelling_progress
from annotation.overview.selectors import Overview, overviews
from annotation.tasks.models.work import TaskState
from annotation.tasks.selectors.queue import task_counts, today_of
from frontend.pages.projects.missing_setup import missing_steps
from frontend.pages.projects.next_steps import next_steps
from frontend.pages.projects.study_steps import StudyOverview, study_overviews
from frontend.pages.projects.waiting_for_others import waiting_for_others
from frontend.pages.requests import signed_in
from frontend.ui.languages import in_reader_language
from frontend.ui.markdown import to_html
from jobs.models import LIVE_STATES, Job
from jobs.selectors import MAY_SEE_JOBS, served_queues
from projects.models import Project, Protocol, Role
from projects.roles import Capability
from projects.selectors import (
    capabilities_of,
    members_of,
    memberships_by_project,
    project_for,
)

JOBS_SHOWN = 3


@login_required
@require_safe
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug)
    granted = capabilities_of(user, project)
    counts = overviews(user, [project]).get(project.pk, Overview())
    study = study_overviews([project])[project.pk]
    steps = next_steps(project, granted, counts, study)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Overview"),
        "roles": [Role(role).label for role in memberships_by_project(user, [project]).get(project.pk, [])],
        "steps": steps,
        "imported": counts.imported,
        "missing": missing_steps(project, granted, counts, steps) if Capability.CONFIGURE in granted else [],
        "for_others": waiting_for_others(project, granted, counts),
        "configures": Capability.CONFIGURE in granted,
        "description": to_html(in_reader_language(project.description)),
        "members": members_of(project).count() if Capability.MANAGE_MEMBERS in granted else None,
        "jobs": _running_jobs(project) if MAY_SEE_JOBS & granted else [],
        "queues": served_queues(),
        **_progress(user, project, granted, study, counts),
    }
    return render(request, "projects/overview.html", context)


def _progress(
    user: User, project: Project, granted: frozenset[Capability], study: StudyOverview, counts: Overview
) -> dict[str, Any]:
    if project.protocol == Protocol.ASSESSMENT:
        return {"study": study}
    today = today_of(user, project) if Capability.ANNOTATE in granted else None
    if project.protocol == Protocol.LABELLING:
        is_annotator = Capability.ANNOTATE in granted
        return {
            "labelling": labelling_progress(project),
            "readable": counts.readable if is_annotator else None,
            "states": {state.value: state.label for state in TaskState},
            "returned": returned_batches(user, project) if is_annotator else [],
            "today": today,
        }
    return {"tasks": task_counts(project), "reviews": review_counts(project), "today": today}


def _running_jobs(project: Project) -> list[Job]:
    live = Job.objects.filter(project=project, state__in=LIVE_STATES)
    return list(live.select_related("project")[:JOBS_SHOWN])


urlpatterns = [path("p/<slug:slug>/", overview, name="project")]
