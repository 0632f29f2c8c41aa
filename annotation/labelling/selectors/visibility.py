"""Which labels are hidden from a reader. Batch review defines the rule; annotation/apps.py registers it."""

from collections.abc import Callable, Set
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotAllowed
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

# (reader, project, their capabilities) -> rows with a `task` whose labels the reader must not see yet.
HIDDEN_LABELS: list[Callable[[User, Project, Set[Capability]], QuerySet[Any]]] = []


def hidden_labels(reader: User, project: Project, granted: Set[Capability] | None = None) -> QuerySet[Any]:
    """Rows with a `task` whose labels the reader must not see yet, because they may have to judge it blind."""
    [rule] = HIDDEN_LABELS
    return rule(reader, project, capabilities_of(reader, project) if granted is None else granted)


def refuse_hidden_labels() -> NotAllowed:
    return NotAllowed(
        _(
            "You may have to judge this dialogue in a sample, so its labels stay hidden until you have judged it."
        )
    )
