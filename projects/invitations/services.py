"""Invite people by link, and let them join."""

import hashlib
import json
from collections.abc import Collection, Sequence
from datetime import timedelta
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.mail import is_mail_set_up
from accounts.models import User
from accounts.services import create_user, set_preferences
from common import clock
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from projects.invitations.invitees import MAX_PEOPLE, Invitee, Line, check_invitee
from projects.invitations.links import invitation_key, key_digest
from projects.invitations.mailing import request_mailing
from projects.invitations.selectors import invitation_for, mark_known_people
from projects.locking import lock_project
from projects.models import Event, Invitation, InvitationState, MailState, Membership, Project
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.services import set_member
from projects.transitions import move, record, record_request

INVITATIONS = "projects.invitations"
MADE = "invited_by_link"
DEFAULT_DAYS = 14
MAX_DAYS = 90
MAX_OPEN = 2000
MAX_MAILS_PER_DAY = 1000
# Guests cannot add people, as the remedies for managers say.
GUEST_REMEDIES = {
    "username_taken": gettext_lazy("Choose another name."),
    "email_taken": gettext_lazy("Sign in with that account instead."),
}
MOVES = {
    InvitationState.OPEN: {InvitationState.ACCEPTED, InvitationState.REVOKED},
    InvitationState.ACCEPTED: set(),
    InvitationState.REVOKED: set(),
}


@transaction.atomic
def invite_by_link(
    *,
    project: Project,
    actor: User,
    request_id: UUID,
    people: Sequence[Invitee],
    days: int = DEFAULT_DAYS,
    by_mail: bool = False,
) -> list[Invitation]:
    """Invite all of these people, or nobody if one of them cannot be invited.

    request_id: the same request again returns the same invitations. by_mail: also send the links to those who have an
    address. Raises Invalid with `lines`, Refusal "mail_unavailable", "too_many_invitations", "id_in_use".
    """
    project = lock_project(project.pk)
    about = {"people": _fingerprint(people), "days": days, "by_mail": by_mail}
    earlier = Event.objects.filter(subject_type=INVITATIONS, subject_id=str(request_id), kind=MADE).first()
    if earlier is not None:
        check_repeat(earlier, project_id=project.pk)
        check_repeat(earlier.data, **about)
        return list(Invitation.objects.filter(request_id=request_id).order_by("position"))
    _check_request(project, people, days)
    _check_limits(project, actor, people, by_mail=by_mail)
    rows = [_new_invitation(project, actor, request_id, n, one, days) for n, one in enumerate(people)]
    if by_mail:
        _send_by_mail(rows)
    made = Invitation.objects.bulk_create(rows)
    data = {**about, "count": len(made), "ids": [row.pk for row in made]}
    record_request(INVITATIONS, request_id, kind=MADE, project=project, actor=actor, data=data)
    return made


def _fingerprint(people: Sequence[Invitee]) -> str:
    values = json.dumps([one.as_data() for one in people], ensure_ascii=False)
    return hashlib.sha256(values.encode()).hexdigest()


def _check_request(project: Project, people: Sequence[Invitee], days: int) -> None:
    if not 1 <= days <= MAX_DAYS:
        raise Invalid(_("Choose between 1 and %(most)d days.") % {"most": MAX_DAYS}, field="days")
    if not 1 <= len(people) <= MAX_PEOPLE:
        raise Invalid(
            _("Invite between 1 and %(most)s people at a time.") % {"most": intcomma(MAX_PEOPLE)},
            field="people",
        )
    lines = [Line(number, one, check_invitee(one)) for number, one in enumerate(people, start=1)]
    mark_known_people(project, lines)
    emails = [one.email.lower() for one in people if one.email]
    if len(emails) != len(set(emails)):
        raise Invalid(_("An email address is listed twice."), field="people")
    problems = [{"line": line.number, "problems": line.problems} for line in lines if line.problems]
    if problems:
        first = next(line for line in lines if line.problems)
        raise Invalid(first.problems[0], _("Nobody was invited."), field="people", lines=problems)


def _check_limits(project: Project, actor: User, people: Sequence[Invitee], *, by_mail: bool) -> None:
    if by_mail and not is_mail_set_up():
        raise Refusal("mail_unavailable", _("This server sends no email."), _("Hand out the links yourself."))
    still_open = Invitation.objects.filter(project=project, state=InvitationState.OPEN).count()
    day = timezone.now() - timedelta(days=1)
    mailed = Invitation.objects.filter(made_by=actor, created_at__gt=day).exclude(
        mail_state=MailState.NOT_SENT
    )
    if still_open + len(people) > MAX_OPEN or (by_mail and mailed.count() + len(people) > MAX_MAILS_PER_DAY):
        raise Refusal(
            "too_many_invitations",
            ngettext(
                "There are too many invitations for %(n)d more.",
                "There are too many invitations for %(n)d more.",
                len(people),
            )
            % {"n": len(people)},
            _("Revoke those that are not needed, or wait a day."),
            status=429,
        )


def _new_invitation(
    project: Project, actor: User, request_id: UUID, position: int, invitee: Invitee, days: int
) -> Invitation:
    row = Invitation(
        project=project,
        request_id=request_id,
        position=position,
        roles=list(invitee.roles),
        name=invitee.name,
        email=invitee.email,
        language=invitee.language,
        made_by=actor,
        expires_at=timezone.now() + timedelta(days=days),
    )
    row.digest = key_digest(invitation_key(row))
    return row


def _send_by_mail(rows: Sequence[Invitation]) -> None:
    now = clock.now()
    for row in rows:
        if row.email:
            row.mail_state, row.mail_due_at, row.mail_attempts, row.mail_error = MailState.WAITING, now, 0, ""
    transaction.on_commit(request_mailing, robust=True)


@transaction.atomic
def renew_link(*, project: Project, actor: User, invitation_id: int, version: int) -> Invitation:
    """A new link for an open invitation; the one before ends. If it was sent by email, so is the new one.

    version: of the link that is replaced; a second send returns the new one. Raises NotFound, Refusal
    "invitation_gone".
    """
    lock_project(project.pk)
    row = invitation_for(project, invitation_id)
    if row.state != InvitationState.OPEN:
        raise _invitation_gone()
    if row.version != version:
        return row
    row.version += 1
    row.digest = key_digest(invitation_key(row))
    row.made_by, row.expires_at = actor, timezone.now() + timedelta(days=DEFAULT_DAYS)
    if row.mail_state != MailState.NOT_SENT and is_mail_set_up():
        _send_by_mail([row])
    row.save()
    record(row, kind="invitation_renewed", project=project, actor=actor, data={"version": row.version})
    return row


@transaction.atomic
def revoke_invitation(*, project: Project, actor: User, invitation_id: int) -> Invitation:
    """End an open invitation. Safe to repeat. Raises NotFound, Refusal "illegal_move" if it was accepted."""
    lock_project(project.pk)
    row = invitation_for(project, invitation_id)
    if row.state != InvitationState.REVOKED:
        move(
            row,
            to=InvitationState.REVOKED,
            moves=MOVES,
            project=project,
            actor=actor,
            kind="invitation_revoked",
            mail_state=MailState.NOT_SENT if row.mail_state == MailState.WAITING else row.mail_state,
        )
    return row


def open_invitation(*, key: str) -> Invitation:
    """The invitation that this key opens. Raises Refusal "invitation_gone"."""
    rows = Invitation.objects.select_related("project", "made_by", "accepted_by")
    row = rows.filter(digest=key_digest(key)).first()
    if row is None or not row.is_valid or row.project.archived_at is not None:
        raise _invitation_gone()
    # Otherwise an invitation would outlast the rights of the person who made it.
    if not row.made_by.is_active or Capability.MANAGE_MEMBERS not in capabilities_of(
        row.made_by, row.project
    ):
        raise _invitation_gone()
    return row


def _invitation_gone() -> Refusal:
    return Refusal(
        "invitation_gone",
        _("This invitation is no longer valid."),
        _("It works once and for a limited time. Ask the manager of the project for a new one."),
        status=410,
    )


@transaction.atomic
def accept_invitation(*, key: str, user: User) -> Invitation:
    """Add the signed-in person to the project. A second send by the same person finds them a member.

    Roles that they have in the project stay. Raises Refusal "invitation_gone", "cannot_join".
    """
    used = (
        Invitation.objects.select_related("project").filter(digest=key_digest(key), accepted_by=user).first()
    )
    return used or _accept(_locked_invitation(key), user)


@transaction.atomic
def accept_with_new_account(
    *,
    key: str,
    username: str,
    display_name: str,
    password: str,
    reading_languages: Collection[str] = (),
    language: str = "",
) -> User:
    """Create an account with the address of the invitation, and add it to the project.

    language: of the pages, if the person has chosen one; "" for the invitation's.
    Raises Invalid, Refusal "invitation_gone", "username_taken", "email_taken".
    """
    row = _locked_invitation(key)
    try:
        user, _plain = create_user(
            username=username,
            email=row.email,
            display_name=display_name,
            language=language or row.language,
            password=password,
        )
    except Refusal as refusal:
        refusal.remedy = GUEST_REMEDIES.get(refusal.code, refusal.remedy)
        raise
    if reading_languages:
        set_preferences(user=user, reading_languages=reading_languages)
    _accept(row, user)
    return user


def _locked_invitation(key: str) -> Invitation:
    """Locked through its project, as everything that changes members."""
    lock_project(open_invitation(key=key).project_id)
    return open_invitation(key=key)


def _accept(row: Invitation, user: User) -> Invitation:
    membership = Membership.objects.filter(project=row.project, user=user).first()
    roles = {*row.roles, *(membership.roles if membership else ())}
    set_member(project=row.project, actor=row.made_by, user=user, roles=roles)
    move(
        row,
        to=InvitationState.ACCEPTED,
        moves=MOVES,
        project=row.project,
        actor=user,
        kind="invitation_accepted",
        accepted_by=user,
        accepted_at=timezone.now(),
    )
    return row
