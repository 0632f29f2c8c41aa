"""One-time links with which a person sets a new password, made by a manager or an operator."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.services import set_own_password
from common.idempotency import check_repeat
from common.refusals import NotFound, Refusal
from projects.models import Event, Membership, Project
from projects.password_links.selectors import renewable_people
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.transitions import record, record_request

PASSWORD_LINK = "projects.password_link"  # noqa: S105 - a kind of event


class PasswordLinkTokens(PasswordResetTokenGenerator):
    """Tokens of one link. A token ends when the person signs in, gets another password, address or right."""

    def __init__(self, link_id: UUID) -> None:
        super().__init__()
        self.link_id = link_id

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        rights = f"{user.is_active}{user.is_staff}{user.is_superuser}"
        return f"{self.link_id}{super()._make_hash_value(user, timestamp)}{rights}"


@dataclass(frozen=True, slots=True)
class PasswordLink:
    user: User
    url: str
    expires_at: datetime


@transaction.atomic
def make_member_link(*, project: Project, actor: User, user: User, link_id: UUID) -> PasswordLink:
    """A link for a member who can do nothing that the manager `actor` cannot do.

    link_id: the same request again returns a new link; each of them ends with the first that is used. Raises NotFound,
    Refusal "not_yours", "cannot_sign_in", "id_in_use".
    """
    _check_can_sign_in(user)
    check_manager_may_renew(actor, project, user)
    return _make_link(project, actor, user, link_id)


@transaction.atomic
def make_operator_link(*, actor: User | None, user: User, link_id: UUID) -> PasswordLink:
    """A link for any account. actor: a superuser; None: the command line. Raises as make_member_link."""
    _check_operator(actor)
    return _make_link(None, actor, user, link_id)


def _check_operator(actor: User | None) -> None:
    if actor is not None and not (actor.is_superuser and actor.is_active):
        raise NotFound(_("Only people who run this server may do this."))


def check_manager_may_renew(actor: User, project: Project, user: User) -> None:
    """A password opens the whole account: the manager must manage every project of the person. It must not open an
    account of single sign-on, past the provider.

    Raises NotFound, Refusal "not_yours".
    """
    if not Membership.objects.filter(project=project, user=user).exists():
        raise NotFound(_("%(name)s is not a member of this project.") % {"name": user.shown_name})
    manages_here = Capability.MANAGE_MEMBERS in capabilities_of(actor, project)
    if not manages_here or user.pk not in renewable_people(actor, [user]):
        raise Refusal(
            "not_yours",
            _("%(name)s may do more than you manage, or signs in without a password.")
            % {"name": user.shown_name},
            _("Ask whoever runs this server for a link."),
            status=403,
        )


def _make_link(project: Project | None, actor: User | None, user: User, link_id: UUID) -> PasswordLink:
    stored = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    _check_can_sign_in(stored)
    earlier = _find_request(link_id)
    if earlier:
        check_repeat(earlier, project=project, actor=actor)
        check_repeat(earlier.data, user=stored.pk)
    else:
        data = {"user": stored.pk, "username": stored.username}
        record_request(PASSWORD_LINK, link_id, kind="password_link", project=project, actor=actor, data=data)
    token = PasswordLinkTokens(link_id).make_token(stored)
    # In the query, which the log leaves out.
    url = f"{settings.PUBLIC_URL}{reverse('password_link', args=[link_id])}?key={token}"
    expires_at = timezone.now() + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    return PasswordLink(stored, url, expires_at)


def _check_can_sign_in(user: User) -> None:
    if user.imported or not user.is_active:
        raise Refusal(
            "cannot_sign_in",
            _("%(name)s cannot sign in, with or without a password.") % {"name": user.shown_name},
            _("Choose somebody with an account that is in use."),
        )


def _find_request(link_id: UUID) -> Event | None:
    rows = Event.objects.filter(subject_type=PASSWORD_LINK, subject_id=str(link_id), kind="password_link")
    return rows.select_related("actor", "project").first()


def person_of_link(*, link_id: UUID, token: str) -> User:
    """Whose password the link sets. Raises Refusal "link_gone"."""
    return _person_of_link(link_id, token)[0]


def _person_of_link(link_id: UUID, token: str, *, lock: bool = False) -> tuple[User, Event]:
    event = _find_request(link_id)
    people = User.objects.select_for_update(no_key=True) if lock else User.objects.all()
    user = people.filter(pk=event.data["user"]).first() if event else None
    if event is None or user is None or not PasswordLinkTokens(link_id).check_token(user, token):
        raise _link_gone()
    try:
        _check_maker(event, user)
        _check_can_sign_in(user)
    except Refusal as refusal:
        raise _link_gone() from refusal
    return user, event


def _check_maker(event: Event, user: User) -> None:
    """Either may have other rights than when the link was made."""
    if event.project is None:
        _check_operator(event.actor)
    elif event.actor is None:
        raise _link_gone()
    else:
        check_manager_may_renew(event.actor, event.project, user)


def _link_gone() -> Refusal:
    return Refusal(
        "link_gone",
        _("This link is no longer valid."),
        _("A link works once and for a limited time. Ask for a new one."),
        status=410,
    )


@transaction.atomic
def set_password_by_link(*, link_id: UUID, token: str, password: str) -> User:
    """Set the password. Every session of the person ends with the old one. Raises Invalid, Refusal "link_gone"."""
    user, event = _person_of_link(link_id, token, lock=True)
    set_own_password(user=user, password=password)
    record(user, kind="password_set_by_link", project=event.project, actor=user, data={"link": str(link_id)})
    return user
