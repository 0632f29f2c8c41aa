"""Links to a new password: for whom, by whom, how long."""

from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import pytest
from django.contrib.auth import user_logged_in
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import User
from common.refusals import Invalid, Refusal
from projects.models import Event, Membership, Project, Role
from projects.password_links.selectors import renewable_people
from projects.password_links.services import (
    PasswordLink,
    make_member_link,
    make_operator_link,
    person_of_link,
    set_password_by_link,
)
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
NEW = "staple battery horse"


@pytest.fixture
def other_project() -> Project:
    return Project.objects.create(slug="other", title="Other", protocol="authoring")


def parts(link: PasswordLink) -> dict[str, Any]:
    url = urlsplit(link.url)
    return {"link_id": UUID(url.path.strip("/").rpartition("/")[2]), "token": parse_qs(url.query)["key"][0]}


def make(project: Project, mara: User, user: User) -> PasswordLink:
    return make_member_link(project=project, actor=mara, user=user, link_id=uuid4())


def code_of(project: Project, mara: User, user: User) -> str:
    with pytest.raises(Refusal) as refused:
        make(project, mara, user)
    return refused.value.code


def refuse(link: PasswordLink) -> None:
    with pytest.raises(Refusal) as refused:
        person_of_link(**parts(link))
    assert refused.value.code == "link_gone"


def test_mara_renews_anns_password(project: Project, mara: User, ann: User) -> None:
    link = make(project, mara, ann)
    assert set_password_by_link(**parts(link), password=NEW) == ann
    ann.refresh_from_db()
    assert ann.check_password(NEW)
    refuse(link)
    made, used = Event.objects.filter(kind__in=["password_link", "password_set_by_link"]).order_by("id")
    assert (made.actor, made.project, made.data["username"]) == (mara, project, "ann")
    assert used.actor == ann


def test_a_weak_password_does_not_use_the_link_up(project: Project, mara: User, ann: User) -> None:
    link = make(project, mara, ann)
    with pytest.raises(Invalid):
        set_password_by_link(**parts(link), password="password")
    assert person_of_link(**parts(link)) == ann


def test_a_second_request_gets_another_link_and_both_end_together(
    project: Project, mara: User, ann: User
) -> None:
    link_id = uuid4()
    first, second = (
        make_member_link(project=project, actor=mara, user=ann, link_id=link_id) for _ in range(2)
    )
    set_password_by_link(**parts(second), password=NEW)
    refuse(first)
    assert Event.objects.filter(kind="password_link").count() == 1


def test_the_id_of_another_request_is_refused(project: Project, mara: User, ann: User, bob: User) -> None:
    link_id = uuid4()
    make_member_link(project=project, actor=mara, user=ann, link_id=link_id)
    with pytest.raises(Refusal) as refused:
        make_member_link(project=project, actor=mara, user=bob, link_id=link_id)
    assert refused.value.code == "id_in_use"


@pytest.mark.parametrize("roles", [[Role.ANNOTATOR], [Role.MANAGER]])
def test_people_of_a_project_that_mara_does_not_manage_are_refused(
    project: Project, mara: User, ann: User, other_project: Project, roles: list[Role]
) -> None:
    Membership.objects.create(project=other_project, user=ann, roles=roles)
    assert code_of(project, mara, ann) == "not_yours"
    Membership.objects.create(project=other_project, user=mara, roles=[Role.TRAINER])
    assert code_of(project, mara, ann) == "not_yours"
    Membership.objects.filter(project=other_project, user=mara).update(roles=[Role.MANAGER])
    assert make(project, mara, ann).user == ann


@pytest.mark.parametrize("rights", [{"is_staff": True}, {"is_superuser": True}])
def test_operators_are_refused(project: Project, mara: User, ann: User, rights: dict[str, bool]) -> None:
    User.objects.filter(pk=ann.pk).update(**rights)
    ann.refresh_from_db()
    assert code_of(project, mara, ann) == "not_yours"


def test_somebody_with_a_permission_of_the_administration_is_refused(
    project: Project, mara: User, ann: User
) -> None:
    permission = Permission.objects.first()
    assert permission
    ann.user_permissions.add(permission)
    assert code_of(project, mara, ann) == "not_yours"


def test_a_manager_gives_no_password_to_an_account_of_single_sign_on(
    project: Project, mara: User, ann: User
) -> None:
    ann.set_unusable_password()
    ann.save()
    assert code_of(project, mara, ann) == "not_yours"
    assert make_operator_link(actor=None, user=ann, link_id=uuid4()).user == ann


def test_strangers_and_other_roles_make_no_link(
    project: Project, mara: User, ann: User, eric: User, joins: Joins
) -> None:
    assert code_of(project, mara, joins("nora")) == "not_found"
    assert code_of(project, eric, ann) == "not_yours"
    assert code_of(project, joins("nora"), ann) == "not_yours"


@pytest.mark.parametrize("state", [{"is_active": False}, {"imported": True}])
def test_accounts_that_cannot_sign_in_get_no_link(
    project: Project, mara: User, ann: User, state: dict[str, bool]
) -> None:
    User.objects.filter(pk=ann.pk).update(**state)
    ann.refresh_from_db()
    assert code_of(project, mara, ann) == "cannot_sign_in"
    with pytest.raises(Refusal):
        make_operator_link(actor=None, user=ann, link_id=uuid4())


def test_the_page_offers_links_for_the_same_people(
    project: Project, mara: User, ann: User, bob: User, other_project: Project
) -> None:
    Membership.objects.create(project=other_project, user=bob, roles=[Role.ANNOTATOR])
    assert renewable_people(mara, [ann, bob]) == {ann.pk}


def test_a_link_kept_until_the_person_has_more_rights_is_gone(
    project: Project, mara: User, ann: User, other_project: Project
) -> None:
    link = make(project, mara, ann)
    Membership.objects.create(project=other_project, user=ann, roles=[Role.MANAGER])
    refuse(link)
    with pytest.raises(Refusal):
        set_password_by_link(**parts(link), password=NEW)


def test_a_link_is_gone_once_its_maker_stops_managing(project: Project, mara: User, ann: User) -> None:
    link = make(project, mara, ann)
    Membership.objects.filter(project=project, user=mara).update(roles=[Role.TRAINER])
    refuse(link)


def test_a_link_is_gone_after_a_sign_in_and_after_a_new_password(
    project: Project, mara: User, ann: User
) -> None:
    signed_in = make(project, mara, ann)
    user_logged_in.send(sender=User, request=None, user=ann)
    refuse(signed_in)
    changed = make(project, mara, ann)
    ann.set_password(NEW)
    ann.save()
    refuse(changed)


def test_a_link_expires(project: Project, mara: User, ann: User, settings: Any) -> None:
    link = make(project, mara, ann)
    assert link.expires_at - timezone.now() > timedelta(days=2, hours=23)
    settings.PASSWORD_RESET_TIMEOUT = -1
    refuse(link)


@pytest.mark.parametrize("token", ["", "x", "abc-def", "0" * 40])
def test_a_forged_key_opens_nothing(project: Project, mara: User, ann: User, token: str) -> None:
    link = parts(make(project, mara, ann))
    with pytest.raises(Refusal):
        person_of_link(link_id=link["link_id"], token=token)
    with pytest.raises(Refusal):
        person_of_link(link_id=uuid4(), token=link["token"])


def test_the_key_of_one_link_does_not_open_another(
    project: Project, mara: User, ann: User, bob: User
) -> None:
    anns, bobs = parts(make(project, mara, ann)), parts(make(project, mara, bob))
    with pytest.raises(Refusal):
        person_of_link(link_id=anns["link_id"], token=bobs["token"])


def test_an_operator_makes_a_link_for_anybody(mara: User, joins: Joins) -> None:
    root = joins("root")
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    root.refresh_from_db()
    link = make_operator_link(actor=root, user=mara, link_id=uuid4())
    assert person_of_link(**parts(link)) == mara
    User.objects.filter(pk=root.pk).update(is_superuser=False)
    refuse(link)
    with pytest.raises(Refusal):
        make_operator_link(actor=mara, user=root, link_id=uuid4())


def test_the_command_prints_a_link(ann: User) -> None:
    out = StringIO()
    call_command("password_link", "ann@example.org", stdout=out)
    words = out.getvalue().split()
    assert words[:2] == ["For", "ann,"]
    url = urlsplit(words[-1])
    link_id = UUID(url.path.strip("/").rpartition("/")[2])
    assert person_of_link(link_id=link_id, token=parse_qs(url.query)["key"][0]) == ann
    with pytest.raises(CommandError, match="There is nobody"):
        call_command("password_link", "nobody")
