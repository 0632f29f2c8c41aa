"""The invitations of a project, and what stands in the way of a new one."""

from collections.abc import Collection, Sequence

from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from projects.invitations.invitees import Line
from projects.models import Invitation, InvitationState, Membership, Project


def invitations_of(project: Project) -> QuerySet[Invitation]:
    rows = Invitation.objects.filter(project=project).select_related("made_by", "accepted_by")
    return rows.order_by("-id")


def invitation_for(project: Project, invitation_id: int) -> Invitation:
    """Raises NotFound."""
    row = invitations_of(project).filter(pk=invitation_id).first()
    if row is None:
        raise NotFound(_("This project has no such invitation."))
    return row


def mark_known_people(project: Project, lines: Sequence[Line]) -> None:
    """Add a problem to each line whose address takes part or is invited already. Two queries."""
    emails = {line.invitee.email.lower() for line in lines if line.invitee.email}
    members, invited = _member_emails(project, emails), _invited_emails(project, emails)
    for line in lines:
        email = line.invitee.email.lower()
        if email in members:
            line.problems.append(_("%(email)s is already a member.") % {"email": line.invitee.email})
        elif email in invited:
            line.problems.append(
                _("%(email)s has an open invitation; revoke it or make a new link.")
                % {"email": line.invitee.email}
            )


def _member_emails(project: Project, emails: Collection[str]) -> set[str]:
    people = User.objects.filter(memberships__in=Membership.objects.filter(project=project))
    rows = people.annotate(address=Lower("email")).filter(address__in=emails)
    return set(rows.values_list("address", flat=True))


def _invited_emails(project: Project, emails: Collection[str]) -> set[str]:
    rows = Invitation.objects.filter(project=project, state=InvitationState.OPEN)
    return set(
        rows.annotate(address=Lower("email")).filter(address__in=emails).values_list("address", flat=True)
    )
