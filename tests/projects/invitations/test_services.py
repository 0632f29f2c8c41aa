"""Inviting by link: who, how long, once, and nothing half."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from common.refusals import Invalid, Refusal
from projects.invitations.invitees import Invitee
from projects.invitations.links import invitation_key
from projects.invitations.mailing import MAX_ATTEMPTS, send_due_invitations
from projects.invitations.services import (
    accept_invitation,
    accept_with_new_account,
    invite_by_link,
    open_invitation,
    renew_link,
    revoke_invitation,
)
from projects.models import Event, Invitation, InvitationState, MailState, Membership, Project, Role
from projects.services import archive_project
from tests.conftest import Joins
from tests.mail_server import Mailbox, mail_server, use_mail
from tests.processes import refusing_port

pytestmark = pytest.mark.django_db
NORA = Invitee((Role.ANNOTATOR,), "Nora", "nora@example.org", "zh-hans")
OLE = Invitee((Role.CONTROLLER, Role.TRAINER), "Ole")
ACCOUNT = {"username": "nora", "display_name": "Nora", "password": "correct horse battery"}


def invite(
    project: Project, mara: User, *people: Invitee, request_id: UUID | None = None, **more: Any
) -> list[Invitation]:
    people = people or (NORA,)
    return invite_by_link(
        project=project, actor=mara, request_id=request_id or uuid4(), people=people, **more
    )


def code(act: Any, **fields: Any) -> str:
    with pytest.raises(Refusal) as refused:
        act(**fields)
    return refused.value.code


def test_nora_makes_an_account_and_is_a_member(project: Project, mara: User) -> None:
    (row,) = invite(project, mara)
    nora = accept_with_new_account(key=invitation_key(row), **ACCOUNT)
    assert (nora.email, nora.language, nora.temporary_password_until) == ("nora@example.org", "zh-hans", None)
    assert Membership.objects.get(user=nora, project=project).roles == ["annotator"]
    row.refresh_from_db()
    assert (row.state, row.accepted_by) == (InvitationState.ACCEPTED, nora)
    assert code(open_invitation, key=invitation_key(row)) == "invitation_gone"
    assert (
        code(accept_with_new_account, key=invitation_key(row), **{**ACCOUNT, "username": "n2"})
        == "invitation_gone"
    )


def test_the_key_is_not_stored(project: Project, mara: User) -> None:
    (row,) = invite(project, mara)
    stored = " ".join(str(value) for value in Invitation.objects.values_list().get(pk=row.pk))
    assert invitation_key(row) not in stored
    assert not any(invitation_key(row) in str(event.data) for event in Event.objects.all())


def test_somebody_with_an_account_keeps_their_roles(project: Project, mara: User, eric: User) -> None:
    (row,) = invite(project, mara, OLE)
    accept_invitation(key=invitation_key(row), user=eric)
    accept_invitation(key=invitation_key(row), user=eric)
    assert set(Membership.objects.get(user=eric).roles) == {"engineer", "controller", "trainer"}
    assert Event.objects.filter(kind="invitation_accepted").count() == 1


def test_a_used_invitation_is_gone_for_others(project: Project, mara: User, eric: User, ann: User) -> None:
    (row,) = invite(project, mara, OLE)
    accept_invitation(key=invitation_key(row), user=eric)
    assert code(accept_invitation, key=invitation_key(row), user=ann) == "invitation_gone"


def test_a_taken_name_does_not_use_the_invitation_up(project: Project, mara: User, ann: User) -> None:
    (row,) = invite(project, mara)
    taken = {**ACCOUNT, "username": "ANN"}
    assert code(accept_with_new_account, key=invitation_key(row), **taken) == "username_taken"
    weak = {**ACCOUNT, "password": "password"}
    assert code(accept_with_new_account, key=invitation_key(row), **weak) == "invalid"
    assert open_invitation(key=invitation_key(row)) == row


def test_the_same_request_returns_the_same_invitations(project: Project, mara: User) -> None:
    request_id = uuid4()
    first = invite(project, mara, NORA, OLE, request_id=request_id)
    second = invite(project, mara, NORA, OLE, request_id=request_id)
    assert [row.pk for row in first] == [row.pk for row in second]
    assert [invitation_key(row) for row in first] == [invitation_key(row) for row in second]
    renew_link(project=project, actor=mara, invitation_id=first[0].pk, version=1)
    assert len(invite(project, mara, NORA, OLE, request_id=request_id)) == 2
    assert (
        code(invite_by_link, project=project, actor=mara, request_id=request_id, people=[OLE]) == "id_in_use"
    )


def test_one_bad_person_stops_the_list(project: Project, mara: User, ann: User) -> None:
    bad = Invitee((Role.ANNOTATOR,), "Ann", "ANN@example.org")
    with pytest.raises(Invalid) as refused:
        invite(project, mara, NORA, bad, Invitee((), "Ole"))
    assert [line["line"] for line in refused.value.details["lines"]] == [2, 3]
    assert not Invitation.objects.exists()


def test_an_address_is_invited_once(project: Project, mara: User) -> None:
    (row,) = invite(project, mara)
    again = {"project": project, "actor": mara, "people": [NORA]}
    assert code(invite_by_link, request_id=uuid4(), **again) == "invalid"
    assert code(invite_by_link, request_id=uuid4(), **{**again, "people": [NORA, NORA]}) == "invalid"
    revoke_invitation(project=project, actor=mara, invitation_id=row.pk)
    assert invite(project, mara)


def test_a_revoked_link_opens_nothing(project: Project, mara: User, eric: User) -> None:
    (row,) = invite(project, mara)
    for _ in range(2):
        revoke_invitation(project=project, actor=mara, invitation_id=row.pk)
    assert code(accept_invitation, key=invitation_key(row), user=eric) == "invitation_gone"
    assert Event.objects.filter(kind="invitation_revoked").count() == 1


def test_an_accepted_invitation_cannot_be_revoked(project: Project, mara: User, eric: User) -> None:
    (row,) = invite(project, mara)
    accept_invitation(key=invitation_key(row), user=eric)
    assert code(revoke_invitation, project=project, actor=mara, invitation_id=row.pk) == "illegal_move"


def test_an_expired_link_opens_nothing_until_it_is_renewed(project: Project, mara: User) -> None:
    (row,) = invite(project, mara, days=1)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    old = invitation_key(row)
    assert code(open_invitation, key=old) == "invitation_gone"
    renewed = renew_link(project=project, actor=mara, invitation_id=row.pk, version=1)
    again = renew_link(project=project, actor=mara, invitation_id=row.pk, version=1)
    assert (renewed.version, again.version) == (2, 2)
    assert code(open_invitation, key=old) == "invitation_gone"
    assert open_invitation(key=invitation_key(renewed)) == renewed


def test_an_invitation_does_not_outlast_the_rights_of_its_maker(
    project: Project, mara: User, joins: Joins
) -> None:
    (row,) = invite(project, mara)
    Membership.objects.filter(user=mara).update(roles=[Role.TRAINER])
    assert code(open_invitation, key=invitation_key(row)) == "invitation_gone"
    Membership.objects.filter(user=mara).update(roles=[Role.MANAGER])
    archive_project(project=project, actor=mara)
    assert code(open_invitation, key=invitation_key(row)) == "invitation_gone"


def test_invitations_of_other_projects_are_not_found(project: Project, mara: User) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    (row,) = invite(project, mara)
    assert code(revoke_invitation, project=other, actor=mara, invitation_id=row.pk) == "not_found"
    assert code(renew_link, project=other, actor=mara, invitation_id=row.pk, version=1) == "not_found"


@pytest.mark.parametrize("key", ["", "x", "0" * 64])
def test_a_forged_key_opens_nothing(project: Project, mara: User, key: str) -> None:
    invite(project, mara)
    assert code(open_invitation, key=key) == "invitation_gone"


def test_bounds(project: Project, mara: User) -> None:
    many = [Invitee((Role.ANNOTATOR,), f"n{n}") for n in range(501)]
    asked = {"project": project, "actor": mara}
    assert code(invite_by_link, request_id=uuid4(), people=many, **asked) == "invalid"
    assert code(invite_by_link, request_id=uuid4(), people=[], **asked) == "invalid"
    assert code(invite_by_link, request_id=uuid4(), people=[OLE], days=91, **asked) == "invalid"
    assert (
        code(invite_by_link, request_id=uuid4(), people=[NORA], by_mail=True, **asked) == "mail_unavailable"
    )


def test_a_list_costs_the_same_queries_as_one(
    project: Project, mara: User, django_assert_max_num_queries: Any
) -> None:
    many = [Invitee((Role.ANNOTATOR,), f"n{n}", f"n{n}@example.org") for n in range(100)]
    with django_assert_max_num_queries(14):
        invite(project, mara, *many)


@pytest.fixture
def server(settings: Settings) -> Iterator[Mailbox]:
    with mail_server() as mailbox:
        use_mail(settings, f"smtp://127.0.0.1:{mailbox.port}")
        yield mailbox


def test_links_are_sent_once_in_the_persons_language(project: Project, mara: User, server: Mailbox) -> None:
    row, without_address = invite(project, mara, NORA, OLE, by_mail=True)
    assert send_due_invitations() == 1
    assert send_due_invitations() == 0
    assert invitation_key(row) in server.last_text()
    assert "邀请" in server.messages[0]["Subject"]
    row.refresh_from_db()
    assert (row.mail_state, without_address.mail_state) == (MailState.SENT, MailState.NOT_SENT)


def test_a_revoked_invitation_is_not_sent(project: Project, mara: User, server: Mailbox) -> None:
    (row,) = invite(project, mara, by_mail=True)
    revoke_invitation(project=project, actor=mara, invitation_id=row.pk)
    assert send_due_invitations() == 0
    assert server.messages == []


def test_a_renewed_link_is_sent_again(project: Project, mara: User, server: Mailbox) -> None:
    (row,) = invite(project, mara, by_mail=True)
    send_due_invitations()
    row = renew_link(project=project, actor=mara, invitation_id=row.pk, version=1)
    assert send_due_invitations() == 1
    assert invitation_key(row) in server.last_text()


@pytest.fixture
def no_mail_server(settings: Settings) -> Iterator[None]:
    with refusing_port() as port:
        use_mail(settings, f"smtp://127.0.0.1:{port}")
        yield


@pytest.mark.usefixtures("no_mail_server")
def test_a_server_that_is_away_is_tried_again_and_given_up(project: Project, mara: User) -> None:
    (row,) = invite(project, mara, by_mail=True)
    for attempt in range(MAX_ATTEMPTS):
        assert send_due_invitations() == 0
        row.refresh_from_db()
        assert row.mail_attempts == attempt + 1
        Invitation.objects.update(mail_due_at=timezone.now() - timedelta(minutes=1))
    assert row.mail_state == MailState.FAILED
    assert "refused" in row.mail_error


@pytest.mark.usefixtures("no_mail_server")
def test_one_silent_server_is_waited_for_once_a_run(project: Project, mara: User) -> None:
    invite(project, mara, NORA, Invitee((Role.ANNOTATOR,), "Ole", "ole@example.org"), by_mail=True)
    send_due_invitations()
    assert sorted(Invitation.objects.values_list("mail_attempts", flat=True)) == [0, 1]
