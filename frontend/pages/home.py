"""The start page: my projects, my roles in them, and the next step of each role."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.selectors.overview import Overview, overviews
from frontend.pages import signed_in
from frontend.paging import keyset_page
from projects.models import Membership, Project, Role
from projects.roles import CAPABILITIES, Capability
from projects.selectors import may_create_projects, projects_for


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do in a project; note: why now."""

    label: str
    url: str
    icon: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    project: Project
    roles: list[str]
    steps: list[Step]


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    page = keyset_page(projects_for(user), request.GET.get("before"))
    new_project = _url("project_new") if may_create_projects(user) else ""
    context = {"cards": cards(user, page.rows), "page": page, "new_project": new_project}
    return render(request, "home/home.html", context | {"title": _("Your projects")})


def cards(user: User, projects: Sequence[Project]) -> list[Card]:
    roles = dict(Membership.objects.filter(user=user, project__in=projects).values_list("project", "roles"))
    seen = overviews(user, projects)
    return [
        Card(
            project,
            [str(Role(role).label) for role in roles.get(project.pk, [])],
            steps(project, _granted(user, roles.get(project.pk, [])), seen[project.pk]),
        )
        for project in projects
    ]


def _granted(user: User, roles: list[str]) -> frozenset[Capability]:
    granted = frozenset[Capability]().union(*(CAPABILITIES.get(role, frozenset()) for role in roles))
    return granted | CAPABILITIES[Role.MANAGER] if user.is_superuser else granted


def steps(project: Project, granted: frozenset[Capability], seen: Overview) -> list[Step]:
    """In the order of urgency; the first is the next action."""
    offered = [
        (
            Capability.ANNOTATE,
            "queue",
            _("Go on writing") if seen.open else _("Write"),
            "pencil",
            _own_note(seen),
        ),
        (Capability.REVIEW, "review", _("Review"), "eye", _review_note(seen)),
        (Capability.READ_STATISTICS, "statistics", _("Statistics"), "chart", ""),
        (Capability.EXPORT, "exports", _("Export"), "download", ""),
        (Capability.IMPORT, "imports", _("Import"), "upload", ""),
        (Capability.MANAGE_MEMBERS, "members", _("Members"), "users", ""),
    ]
    return [
        Step(label, url, icon, note)
        for needed, name, label, icon, note in offered
        if needed in granted and (url := _url(name, project.slug))
    ]


def _own_note(seen: Overview) -> str:
    notes = []
    if seen.open:
        notes.append(ngettext("%(n)d open", "%(n)d open", seen.open) % {"n": seen.open})
    if seen.came_back:
        notes.append(ngettext("%(n)d came back", "%(n)d came back", seen.came_back) % {"n": seen.came_back})
    return " · ".join(notes)


def _review_note(seen: Overview) -> str:
    if not seen.unreviewed:
        return _("nothing waits")
    return ngettext("%(n)d waits", "%(n)d wait", seen.unreviewed) % {"n": seen.unreviewed}


def _url(name: str, *args: Any) -> str:
    """Empty for a page that this installation does not have."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


urlpatterns = [path("", home, name="home")]
