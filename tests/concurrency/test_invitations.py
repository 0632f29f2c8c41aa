"""One link, several people at the same moment."""

from functools import partial
from uuid import uuid4

import pytest

from accounts.models import User
from common.refusals import Refusal
from projects.invitations.invitees import Invitee
from projects.invitations.links import invitation_key
from projects.invitations.services import accept_invitation, invite_by_link
from projects.models import Invitation, Membership, Project, Role
from projects.password_links.services import make_member_link, set_password_by_link
from tests.concurrency.test_labels import run_concurrently
from tests.conftest import Joins
from tests.projects.password_links.test_services import parts

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_invitation_is_accepted_by_one_person(project: Project, mara: User, joins: Joins) -> None:
    people = [joins(f"n{n}") for n in range(4)]
    invitee = Invitee((Role.ANNOTATOR,), "Nora")
    (row,) = invite_by_link(project=project, actor=mara, request_id=uuid4(), people=[invitee])
    key = invitation_key(row)
    results = run_concurrently(*(partial(accept_invitation, key=key, user=user) for user in people))
    assert sorted(isinstance(one, Refusal) for one in results) == [False, True, True, True]
    row.refresh_from_db()
    joined = Membership.objects.filter(project=project, user__in=people)
    assert [member.user_id for member in joined] == [row.accepted_by_id]


def test_the_same_list_at_the_same_moment_is_stored_once(project: Project, mara: User) -> None:
    people, request_id = [Invitee((Role.ANNOTATOR,), f"n{n}") for n in range(20)], uuid4()
    send = partial(invite_by_link, project=project, actor=mara, request_id=request_id, people=people)
    results = run_concurrently(*[send] * 4)
    assert [len(rows) for rows in results] == [20] * 4
    assert Invitation.objects.count() == 20


def test_a_password_link_sets_one_password(project: Project, mara: User, ann: User) -> None:
    link = parts(make_member_link(project=project, actor=mara, user=ann, link_id=uuid4()))
    choose = [partial(set_password_by_link, **link, password=f"battery staple {n}") for n in range(4)]
    results = run_concurrently(*choose)
    assert sorted(isinstance(one, Refusal) for one in results) == [False, True, True, True]
