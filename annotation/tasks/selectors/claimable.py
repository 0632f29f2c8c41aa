"""The tasks that a person could be given."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q

from accounts.models import User
from annotation.tasks.selectors.languages import readable_tasks
from projects.models import Membership, Project


def claimable_by(user: User, projects: Collection[Project], prefix: str = "") -> Q:
    """The condition for tasks of these projects with open slots, in languages that the person reads, for everybody or
    the person's group. It includes those that the person has had, which are not given a second time.

    prefix: of the fields of the task, such as "task__".
    """
    members = Membership.objects.filter(
        user=user, project=OuterRef(f"{prefix}project"), group=OuterRef(f"{prefix}group")
    )
    is_for_person = Q(**{f"{prefix}group": ""}) | Q(Exists(members))
    return (
        Q(**{f"{prefix}open_slots__gt": 0})
        & readable_tasks(user.reading_languages, projects, prefix)
        & is_for_person
    )
