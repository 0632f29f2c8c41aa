"""Reading projects: permission is how you fetch."""

from collections.abc import Iterable

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.models import User
from common.refusals import NotAllowed, NotFound
from projects.models import Event, Membership, Project, Role
from projects.roles import CAPABILITIES, Capability


def capabilities_of(user: User, project: Project) -> frozenset[Capability]:
    """What `user` may do in `project`; superusers may do everything except others' annotation and review work."""
    roles = (
        Membership.objects.filter(user=user, project=project).values_list("roles", flat=True).first() or []
    )
    return capabilities_of_roles(user, roles)


def capabilities_of_roles(user: User, roles: Iterable[str]) -> frozenset[Capability]:
    """What `user` may do where these are the person's roles."""
    granted = frozenset[Capability]().union(*(CAPABILITIES.get(role, frozenset()) for role in roles))
    return granted | CAPABILITIES[Role.MANAGER] if user.is_superuser else granted


def projects_for(user: User) -> QuerySet[Project]:
    """The projects that `user` sees, archived ones left out."""
    live = Project.objects.filter(archived_at=None)
    return live if user.is_superuser else live.filter(memberships__user=user)


def memberships_by_project(user: User, projects: Iterable[Project]) -> dict[int, list[str]]:
    """The person's roles in each of these projects, by its key; one query."""
    rows = Membership.objects.filter(user=user, project__in=list(projects))
    return dict(rows.values_list("project_id", "roles"))


def members_of(project: Project, search: str = "") -> QuerySet[Membership]:
    """The members in the order in which they joined; search looks at names and e-mail addresses."""
    rows = Membership.objects.filter(project=project).select_related("user")
    if search:
        rows = rows.filter(
            Q(user__username__icontains=search)
            | Q(user__display_name__icontains=search)
            | Q(user__email__icontains=search)
        )
    return rows


def groups_of(project: Project) -> list[str]:
    """The annotator groups that have a member, by name."""
    rows = Membership.objects.filter(project=project).exclude(group="").order_by("group")
    return list(rows.values_list("group", flat=True).distinct())


def find_member(project: Project, username: str) -> User:
    """A member by sign-in name."""
    row = Membership.objects.filter(project=project, user__username=username).select_related("user").first()
    if row is None:
        raise NotFound(
            _("“%(name)s” is no member of this project.") % {"name": username}, _("Add that person first.")
        )
    return row.user


def events_of(project: Project, **filters: str) -> QuerySet[Event]:
    """What happened in the project, newest first. filters: kind, subject_type, subject_id, actor__username."""
    return Event.objects.filter(project=project, **filters).select_related("actor")


def may_create_projects(user: User) -> bool:
    """Superusers, and whoever manages a project already."""
    return user.is_superuser or Membership.objects.filter(user=user, roles__contains=[Role.MANAGER]).exists()


def project_for(user: User, slug: str, capability: Capability = Capability.SEE) -> Project:
    """The project, or NotFound when the person is no member, or NotAllowed when no role of theirs allows it."""
    project = Project.objects.filter(slug=slug).first()
    granted = capabilities_of(user, project) if project else frozenset()
    if project is None or not granted:
        raise NotFound(
            _("There is no project “%(slug)s” that you take part in.") % {"slug": slug},
            _("Ask its manager to add you, or choose one of your projects."),
        )
    if capability not in granted:
        raise NotAllowed(_needed(capability), _("Ask the project's manager for that role."))
    return project


def _needed(capability: Capability) -> str:
    roles = [str(Role(role).label) for role, granted in CAPABILITIES.items() if capability in granted]
    return _("This needs one of the roles: %(roles)s.") % {"roles": pgettext("list", ", ").join(roles)}
