"""Reading one's own assignments."""

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.tasks.models.work import Assignment
from common.refusals import NotFound
from projects.models import Membership, Project


def assignment_not_found() -> NotFound:
    return NotFound(_("There is no such dialogue among yours."), _("Open your queue to see what you hold."))


# Long texts that are fetched when they are read.
DEFERRED_TEXTS = ("project__guidelines_en", "project__guidelines_zh", "project__labelling__schema__content")


def assignment_for(user: User, assignment_id: int, protocol: str = "") -> Assignment:
    """The person's own assignment with its dialogue, project, settings and draft.

    protocol: of its project; "" is any. Raises NotFound for other people's assignments, other protocols, and those who
    left the project.
    """
    related = Assignment.objects.select_related(
        "dialogue", "task", "project__authoring", "project__labelling__schema", "draft", "label_draft"
    ).defer(*DEFERRED_TEXTS)
    membership = Membership.objects.filter(project=OuterRef("project"), user=user)
    own = related.filter(pk=assignment_id, annotator=user)
    row = (own if user.is_superuser else own.filter(Exists(membership))).first()
    if row is None or protocol not in ("", row.project.protocol):
        raise assignment_not_found()
    return row


def assignments_of(user: User, project: Project, states: list[str] | None = None) -> QuerySet[Assignment]:
    own = Assignment.objects.filter(annotator=user, project=project)
    own = own.select_related("dialogue", "project", "draft")
    return own.filter(state__in=states) if states else own
