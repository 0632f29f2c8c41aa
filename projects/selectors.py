"""Projects, members and events that a person may read."""

from collections.abc import Iterable

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.models import User
from common.refusals import NotAllowed, NotFound
from projects.models import Event, Membership, Project, Role
from projects.roles import CAPABILITIES, Capability, roles_with


def capabilities_of(user: User, project: Project) -> frozenset[Capability]:
    """What `user` may do in `project`. Superusers may do everything that managers may."""
    roles = (
        Membership.objects.filter(user=user, project=project).values_list("roles", flat=True).first() or []
    )
    return capabilities_of_roles(user, roles)


def capabilities_of_roles(user: User, roles: Iterable[str]) -> frozenset[Capability]:
    """What `user` may do in a project in which they have these roles."""
    granted = frozenset[Capability]().union(*(CAPABILITIES.get(role, frozenset()) for role in roles))
    return granted | CAPABILITIES[Role.MANAGER] if user.is_superuser else granted


def projects_for(user: User, *, archived: bool = False) -> QuerySet[Project]:
    """The projects that `user` sees: those in use, or only the archived ones."""
    rows = Project.objects.filter(archived_at__isnull=not archived)
    return rows if user.is_superuser else rows.filter(memberships__user=user)


def memberships_by_project(user: User, projects: Iterable[Project]) -> dict[int, list[str]]:
    """The person's roles in each of these projects, by its key; one query."""
    rows = Membership.objects.filter(user=user, project__in=list(projects))
    return dict(rows.values_list("project_id", "roles"))


def members_of(project: Project, search: str = "") -> QuerySet[Membership]:
    """The members in the order in which they joined. search: part of a name.

    Email addresses are neither shown nor searched: whoever adds a person by name must not learn them.
    """
    rows = Membership.objects.filter(project=project).select_related("user")
    if search:
        rows = rows.filter(Q(user__username__icontains=search) | Q(user__display_name__icontains=search))
    return rows


def groups_of(project: Project) -> list[str]:
    """The names of the annotator groups that have members, sorted."""
    rows = Membership.objects.filter(project=project).exclude(group="").order_by("group")
    return list(rows.values_list("group", flat=True).distinct())


def find_member(project: Project, username: str) -> User:
    """The member with this sign-in name. Raises NotFound."""
    row = Membership.objects.filter(project=project, user__username=username).select_related("user").first()
    if row is None:
        raise NotFound(
            _("“%(name)s” is not a member of this project.") % {"name": username}, _("Add that person first.")
        )
    return row.user


def events_of(project: Project, **filters: str) -> QuerySet[Event]:
    """The events of the project, newest first. filters: kind, subject_type, subject_id, actor__username."""
    return Event.objects.filter(project=project, **filters).select_related("actor")


def may_create_projects(user: User) -> bool:
    """Whether the user is a superuser or manages a project."""
    return user.is_superuser or Membership.objects.filter(user=user, roles__contains=[Role.MANAGER]).exists()


def project_for(user: User, slug: str, capability: Capability = Capability.SEE) -> Project:
    """The project. Raises NotFound if the user is not a member, NotAllowed if none of their roles allows it."""
    project = Project.objects.filter(slug=slug).first()
    granted = capabilities_of(user, project) if project else frozenset()
    if project is None or not granted:
        raise NotFound(
            _("There is no project “%(slug)s” that you take part in.") % {"slug": slug},
            _("Ask its manager to add you, or choose one of your projects."),
        )
    if capability not in granted:
        raise NotAllowed(_roles_needed(capability), _("Ask the project's manager for that role."))
    return project


def _roles_needed(capability: Capability) -> str:
    roles = [str(Role(role).label) for role in roles_with(capability)]
    return _("This needs one of the roles: %(roles)s.") % {"roles": pgettext("list", ", ").join(roles)}
