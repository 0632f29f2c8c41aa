"""The start page: the person's projects and roles, with the next step of each role."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.overview.selectors import overviews
from frontend.pages.projects.next_steps import next_steps
from frontend.pages.projects.steps import NextStep
from frontend.pages.projects.study_steps import study_overviews
from frontend.pages.requests import signed_in
from frontend.ui.languages import first_paragraph, in_reader_language
from frontend.ui.paging import keyset_page
from projects.models import Project, Role
from projects.roles import Capability
from projects.selectors import (
    capabilities_of_roles,
    may_create_projects,
    memberships_by_project,
    projects_for,
)


@dataclass(frozen=True, slots=True)
class Card:
    """A project with the steps for which something waits. description: in the reader's language."""

    project: Project
    description: str
    roles: list[str]
    steps: list[NextStep]


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    page = keyset_page(projects_for(user), request.GET.get("before"))
    new_project = reverse("new_project") if may_create_projects(user) else ""
    context = {
        "cards": build_cards(user, page.rows),
        "page": page,
        "new_project": new_project,
        "has_archived": projects_for(user, archived=True).exists(),
    }
    return render(request, "projects/home.html", context | {"title": _("Your projects")})


@login_required
@require_safe
def archived_projects(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    page = keyset_page(projects_for(user, archived=True), request.GET.get("before"))
    roles = memberships_by_project(user, page.rows)
    rows = [
        (project, Capability.MANAGE_MEMBERS in capabilities_of_roles(user, roles.get(project.pk, [])))
        for project in page.rows
    ]
    context = {"page": page, "rows": rows, "title": _("Archived projects")}
    return render(request, "projects/archived.html", context)


def build_cards(user: User, projects: Sequence[Project]) -> list[Card]:
    """Projects in which something waits for the person come first, then those with work for anybody."""
    roles = memberships_by_project(user, projects)
    seen, studies = overviews(user, projects), study_overviews(projects)
    cards = [
        Card(
            project,
            first_paragraph(in_reader_language(project.description)),
            [str(Role(role).label) for role in roles.get(project.pk, [])],
            [
                step
                for step in next_steps(
                    project,
                    capabilities_of_roles(user, roles.get(project.pk, [])),
                    seen[project.pk],
                    studies[project.pk],
                )
                if step.is_due
            ],
        )
        for project in projects
    ]
    return sorted(cards, key=_urgency)


def _urgency(card: Card) -> tuple[bool, bool, bool]:
    is_waiting = any(step.is_waiting for step in card.steps)
    return not is_waiting, all(step.is_standing for step in card.steps), not card.steps


urlpatterns = [
    path("", home, name="home"),
    path("projects/archived/", archived_projects, name="archived_projects"),
]
