"""Change projects and their members. annotation creates projects, because a project comes with settings."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.models import User
from accounts.services import create_user, renew_one_time_password, set_preferences
from common.idempotency import check_repeat
from common.model_validation import full_clean_or_refuse
from common.refusals import Invalid, NotFound, Refusal
from projects.locking import lock_project
from projects.models import Event, Membership, Project, Role
from projects.transitions import record, record_request

MAX_CURRENCY, MAX_RATE = 8, 1_000_000
EDITABLE = ("title", "description", "language", "guidelines_en", "guidelines_zh")
MAX_TEXT = 200_000
MAX_GROUP_NAME = 40
INVITATION = "projects.invitation"


def project_version(project: Project) -> str:
    """A hash of the editable values. A form sends back the version it was filled from; a stale one is refused."""
    values = json.dumps([getattr(project, name) for name in EDITABLE], ensure_ascii=False)
    return hashlib.sha256(values.encode()).hexdigest()[:16]


@transaction.atomic
def update_project(
    *, project: Project, actor: User | None, changes: Mapping[str, str], version: str | None = None
) -> Project:
    """Change title, description, language or guidelines. The same changes again write no event.

    version: of the values that the person saw. Raises Invalid, and Refusal "changed_meanwhile" if they changed since.
    """
    if unknown := set(changes) - set(EDITABLE):
        raise TypeError(f"not editable: {', '.join(sorted(unknown))}")
    stored = lock_project(project.pk)
    changed = [name for name, value in changes.items() if getattr(stored, name) != value]
    if not changed:
        return stored
    if version is not None and version != project_version(stored):
        raise Refusal(
            "changed_meanwhile",
            _("Somebody else has changed this project since you opened it."),
            _("Look at the current values, then send yours again."),
            details={"version": project_version(stored)},
        )
    before = {name: getattr(stored, name) for name in changed}
    for name in changed:
        setattr(stored, name, changes[name])
    _validate(stored, changed)
    stored.save(update_fields=changed)
    # The old texts are kept: guidelines are what submissions were written under.
    record(stored, kind="edited", project=stored, actor=actor, data={"before": before, "changed": changed})
    return stored


@transaction.atomic
def set_hourly_rate(
    *, project: Project, actor: User | None, hourly_rate: Decimal | None, currency: str
) -> Project:
    """Set what an hour of active work costs; None: no cost is shown. Safe to repeat. Raises Invalid."""
    currency = currency.strip()
    if len(currency) > MAX_CURRENCY or "\0" in currency:
        raise Invalid(_("A currency has at most %(n)d characters.") % {"n": MAX_CURRENCY}, field="currency")
    if hourly_rate is not None and not 0 <= hourly_rate < MAX_RATE:
        raise Invalid(
            _("The cost of an hour must be between 0 and %(n)d.") % {"n": MAX_RATE}, field="hourly_rate"
        )
    stored = lock_project(project.pk)
    if (stored.hourly_rate, stored.currency) != (hourly_rate, currency):
        stored.hourly_rate, stored.currency = hourly_rate, currency
        stored.save(update_fields=["hourly_rate", "currency"])
        name = "" if hourly_rate is None else f"{hourly_rate} {currency}".strip()
        record(stored, kind="rate_changed", project=stored, actor=actor, data={"name": name})
    return stored


def _validate(project: Project, names: Collection[str]) -> None:
    for name in names:
        value = getattr(project, name)
        if len(value) > MAX_TEXT or "\0" in value:
            raise Invalid(_("This text is too long or contains NUL."), field=name)
    full_clean_or_refuse(project, validate_unique=False)


def check_not_archived(project: Project) -> None:
    """Raises Refusal "archived"."""
    if project.archived_at:
        raise Refusal("archived", _("This project is archived."), _("Ask its manager to open it again."))


@transaction.atomic
def archive_project(*, project: Project, actor: User | None) -> Project:
    """Remove the project from everybody's list; nothing new can be claimed. Safe to repeat."""
    return _set_archived(project, actor, is_archived=True)


@transaction.atomic
def restore_project(*, project: Project, actor: User | None) -> Project:
    """Undo archive_project. Safe to repeat."""
    return _set_archived(project, actor, is_archived=False)


def _set_archived(project: Project, actor: User | None, *, is_archived: bool) -> Project:
    stored = lock_project(project.pk)
    if (stored.archived_at is not None) != is_archived:
        stored.archived_at = timezone.now() if is_archived else None
        stored.save(update_fields=["archived_at"])
        record(stored, kind="archived" if is_archived else "restored", project=stored, actor=actor)
    return stored


@dataclass(frozen=True, slots=True)
class RolesChange:
    """The roles of a person before and after a change; None if not a member. To undo, set `before` again."""

    user: User
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None

    @property
    def is_new(self) -> bool:
        return self.before is None and self.after is not None


@transaction.atomic
def set_member(*, project: Project, actor: User | None, user: User, roles: Collection[str]) -> RolesChange:
    """Give `user` exactly these roles; adds them if they are not a member.

    Raises Invalid, Refusal "cannot_join", "last_manager".
    """
    after = _ordered_roles(roles)
    if user.imported or not user.is_active:
        raise Refusal(
            "cannot_join",
            _("%(name)s cannot sign in, so cannot take part.") % {"name": user.shown_name},
            _("Choose somebody with an account that is in use."),
        )
    row = _locked_membership(project, user)
    before = tuple(row.roles) if row else None
    if before == after:
        return RolesChange(user, before, after)
    if row and Role.MANAGER not in after:
        _refuse_last_manager(row)
    if row is None:
        row = Membership.objects.create(project=project, user=user, roles=list(after))
    else:
        row.roles = list(after)
        row.save(update_fields=["roles"])
    _record_roles(project, actor, user, "member_joined" if before is None else "member_roles", before, after)
    return RolesChange(user, before, after)


@transaction.atomic
def remove_member(*, project: Project, actor: User | None, user: User) -> RolesChange:
    """End the membership. The person's work stays, and their claims until the leases expire. Safe to repeat."""
    row = _locked_membership(project, user)
    if row is None:
        return RolesChange(user, None, None)
    _refuse_last_manager(row)
    before = tuple(row.roles)
    row.delete()
    _record_roles(project, actor, user, "member_removed", before, None)
    return RolesChange(user, before, None)


@transaction.atomic
def set_group(*, project: Project, actor: User | None, user: User, group: str) -> Membership:
    """Move a member into an annotator group; empty: no group. Applies from the next dialogue on. Safe to repeat."""
    row = _locked_membership(project, user)
    if row is None:
        raise NotFound(_("%(name)s is not a member of this project.") % {"name": user.shown_name})
    group = " ".join(group.split())
    if len(group) > MAX_GROUP_NAME or "\0" in group:
        raise Invalid(
            _("A group's name has at most %(n)d characters.") % {"n": MAX_GROUP_NAME},
            _("Choose a shorter one."),
            field="group",
        )
    if row.group != group:
        before, row.group = row.group, group
        row.save(update_fields=["group"])
        data = {"username": user.username, "before": before, "after": group}
        record(user, kind="member_group", project=project, actor=actor, data=data)
    return row


@transaction.atomic
def set_member_languages(
    *, project: Project, actor: User | None, user: User, languages: Collection[str]
) -> Membership:
    """Say which languages a member reads, here and in their other projects; empty: all. Safe to repeat.

    Raises NotFound, Invalid.
    """
    row = _locked_membership(project, user)
    if row is None:
        raise NotFound(_("%(name)s is not a member of this project.") % {"name": user.shown_name})
    before = list(row.user.reading_languages)
    set_preferences(user=row.user, reading_languages=languages)
    after = row.user.reading_languages
    if after != before:
        data = {"username": user.username, "before": before, "after": after}
        record(user, kind="member_languages", project=project, actor=actor, data=data)
    return row


def _ordered_roles(roles: Collection[str]) -> tuple[str, ...]:
    if not roles or set(roles) - set(Role.values):
        raise Invalid(
            _("A member needs at least one of the roles: %(roles)s.")
            % {"roles": pgettext("list", ", ").join(str(role.label) for role in Role)},
            _("To remove all roles, remove the member."),
            field="roles",
        )
    return tuple(role for role in Role.values if role in roles)


def _locked_membership(project: Project, user: User) -> Membership | None:
    # Locks the project, so that two managers cannot remove each other at the same time.
    lock_project(project.pk)
    return Membership.objects.select_related("user").filter(project=project, user=user).first()


def _refuse_last_manager(row: Membership) -> None:
    if Role.MANAGER not in row.roles:
        return
    managers = Membership.objects.filter(project=row.project_id, roles__contains=[Role.MANAGER])
    if not managers.exclude(pk=row.pk).exists():
        raise Refusal(
            "last_manager",
            _("%(name)s is the only manager of this project.") % {"name": row.user.shown_name},
            _("Make somebody else a manager first."),
        )


def _record_roles(
    project: Project,
    actor: User | None,
    user: User,
    kind: str,
    before: tuple[str, ...] | None,
    after: tuple[str, ...] | None,
) -> None:
    data: dict[str, Any] = {"username": user.username, "before": before, "after": after}
    record(user, kind=kind, project=project, actor=actor, data=data)


@transaction.atomic
def invite_person(
    *,
    project: Project,
    actor: User | None,
    invitation_id: UUID,
    roles: Collection[str],
    username: str,
    email: str = "",
    display_name: str = "",
    language: str = "",
) -> tuple[User, str]:
    """Create an account that is a member of the project. Returns it with its one-time password.

    invitation_id: the same request again returns the first account with a new one-time password, because the reply with
    the first one may have been lost. Raises Refusal "id_in_use" for another request, "password_is_own" after the
    person's first sign-in, and what create_user and set_member raise.
    """
    lock_project(project.pk)
    invitation = Event.objects.filter(subject_type=INVITATION, subject_id=str(invitation_id)).first()
    if invitation is not None:
        check_repeat(invitation, project_id=project.pk)
        user = User.objects.get(pk=invitation.data["user"])
        check_repeat(
            user,
            username=username.strip(),
            email=email.strip(),
            display_name=display_name.strip(),
            language=language,
        )
        # Invitations of earlier releases do not have the roles.
        check_repeat({"roles": sorted(roles), **invitation.data}, roles=sorted(roles))
        return user, renew_invitation(project=project, actor=actor, user=user)
    user, plain = create_user(username=username, email=email, display_name=display_name, language=language)
    set_member(project=project, actor=actor, user=user, roles=roles)
    data = {"user": user.pk, "username": user.username, "roles": sorted(roles)}
    record_request(INVITATION, invitation_id, kind="invited", project=project, actor=actor, data=data)
    return user, plain


@transaction.atomic
def renew_invitation(*, project: Project, actor: User | None, user: User) -> str:
    """A new one-time password for a member of only this project who has not chosen a password yet.

    Raises NotFound, Refusal "not_yours", "password_is_own".
    """
    memberships = list(Membership.objects.filter(user=user).values_list("project_id", flat=True))
    # The password opens the whole account, so the account must not be able to do anything outside this project.
    if project.pk not in memberships:
        raise NotFound(_("%(name)s is not a member of this project.") % {"name": user.shown_name})
    if memberships != [project.pk] or user.is_superuser:
        raise Refusal(
            "not_yours",
            _("%(name)s takes part in more than this project.") % {"name": user.shown_name},
            _("Ask whoever runs this server for a link."),
        )
    plain = renew_one_time_password(user=user)
    record(user, kind="invited_again", project=project, actor=actor)
    return plain
