"""For which people a manager may make a link to a new password."""

from collections.abc import Iterable

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import Q

from accounts.models import User
from projects.models import Membership, Role


def renewable_people(actor: User, people: Iterable[User]) -> set[int]:
    """The keys of those members who can do nothing that the manager `actor` cannot do. One query.

    The password of a person opens all of their projects, so the manager must manage each of them.
    """
    keys = [person.pk for person in people if person.is_active and not person.imported]
    more_rights = Q(is_superuser=True) | Q(is_staff=True) | Q(user_permissions__gt=0) | Q(groups__gt=0)
    rows = User.objects.filter(pk__in=keys, memberships__isnull=False).exclude(more_rights)
    # Whoever signs in with single sign-on has no password that could be renewed.
    rows = rows.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)
    if not actor.is_superuser:
        managed = Membership.objects.filter(user=actor, roles__contains=[Role.MANAGER])
        elsewhere = Membership.objects.exclude(project__in=managed.values("project"))
        rows = rows.exclude(pk__in=elsewhere.values("user"))
    return set(rows.values_list("pk", flat=True)) if actor.is_active else set()
