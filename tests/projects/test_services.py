"""Changing a project and who takes part in it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections

from accounts.models import User
from common.refusals import Invalid, NotFound, Refusal
from projects.models import Event, Membership, Project, Role
from projects.roles import Capability
from projects.selectors import capabilities_of, projects_for
from projects.services import (
    archive_project,
    invite_person,
    project_version,
    remove_member,
    renew_invitation,
    restore_project,
    set_member,
    update_project,
)
from tests.conftest import Joins

pytestmark = pytest.mark.django_db


def kinds(project: Project) -> list[str]:
    return list(Event.objects.filter(project=project).order_by("id").values_list("kind", flat=True))


def test_a_change_is_stored_with_what_was_before(project: Project, mara: User) -> None:
    before = project.guidelines_en
    update_project(project=project, actor=mara, changes={"guidelines_en": "# New"})
    project.refresh_from_db()
    assert project.guidelines_en == "# New"
    event = Event.objects.get(project=project, kind="edited")
    assert (event.actor, event.data) == (
        mara,
        {"before": {"guidelines_en": before}, "changed": ["guidelines_en"]},
    )


def test_the_same_change_again_writes_no_event(project: Project, mara: User) -> None:
    for _time in range(2):
        update_project(project=project, actor=mara, changes={"title": "Chats"})
    assert kinds(project).count("edited") == 1


def test_nobody_overwrites_what_they_have_not_seen(project: Project, mara: User) -> None:
    version = project_version(project)
    update_project(project=project, actor=mara, changes={"title": "First"}, version=version)
    with pytest.raises(Refusal) as refused:
        update_project(project=project, actor=mara, changes={"title": "Second"}, version=version)
    assert refused.value.code == "changed_meanwhile"
    project.refresh_from_db()
    assert project.title == "First"
    update_project(
        project=project, actor=mara, changes={"title": "Second"}, version=refused.value.details["version"]
    )


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"title": ""}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"language": "tlh"}, "language"),
        ({"guidelines_en": "x" * 200_001}, "guidelines_en"),
        ({"guidelines_zh": "a\0b"}, "guidelines_zh"),
    ],
)
def test_an_invalid_change_is_refused_and_not_stored(
    project: Project, mara: User, changes: dict[str, str], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        update_project(project=project, actor=mara, changes={"description": "x", **changes})
    assert refused.value.details == {"field": field}
    project.refresh_from_db()
    assert project.description == ""


@pytest.mark.parametrize("name", ["slug", "protocol", "archived_at", "id"])
def test_fields_that_are_not_editable_cannot_be_changed(project: Project, mara: User, name: str) -> None:
    with pytest.raises(TypeError):
        update_project(project=project, actor=mara, changes={name: "x"})


def test_an_archived_project_leaves_the_list_and_comes_back(project: Project, mara: User) -> None:
    for _time in range(2):
        archive_project(project=project, actor=mara)
    assert not projects_for(mara).exists()
    for _time in range(2):
        restore_project(project=project, actor=mara)
    assert list(projects_for(mara)) == [project]
    assert kinds(project)[-2:] == ["archived", "restored"]


def test_roles_are_given_changed_and_remembered(project: Project, mara: User, joins: Joins) -> None:
    nora = joins("nora")
    joined = set_member(project=project, actor=mara, user=nora, roles=[Role.TRAINER, Role.ANNOTATOR])
    assert joined.is_new
    assert joined.after == ("annotator", "trainer")
    changed = set_member(project=project, actor=mara, user=nora, roles=[Role.ENGINEER])
    assert (changed.before, changed.after) == (("annotator", "trainer"), ("engineer",))
    assert Capability.EXPORT in capabilities_of(nora, project)
    event = Event.objects.get(project=project, kind="member_roles")
    assert event.data == {"username": "nora", "before": ["annotator", "trainer"], "after": ["engineer"]}


def test_the_same_roles_again_write_no_event(project: Project, mara: User, ann: User) -> None:
    set_member(project=project, actor=mara, user=ann, roles=[Role.ANNOTATOR])
    assert "member_roles" not in kinds(project)


@pytest.mark.parametrize("roles", [[], ["king"], ["annotator", "king"]])
def test_an_unknown_role_is_refused(project: Project, mara: User, ann: User, roles: list[str]) -> None:
    with pytest.raises(Invalid):
        set_member(project=project, actor=mara, user=ann, roles=roles)
    assert Membership.objects.get(user=ann).roles == ["annotator"]


def test_the_last_manager_stays_one(project: Project, mara: User, ann: User) -> None:
    attempts: list[Any] = [
        lambda: set_member(project=project, actor=mara, user=mara, roles=[Role.TRAINER]),
        lambda: remove_member(project=project, actor=mara, user=mara),
    ]
    for attempt in attempts:
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.code == "last_manager"
    set_member(project=project, actor=mara, user=ann, roles=[Role.MANAGER])
    remove_member(project=project, actor=mara, user=mara)
    assert not Membership.objects.filter(user=mara).exists()


@pytest.mark.django_db(transaction=True)
def test_two_managers_cannot_remove_each_other_at_the_same_instant(
    project: Project, mara: User, joins: Joins
) -> None:
    nora = joins("nora", project, Role.MANAGER)

    def remove(pair: tuple[User, User]) -> str:
        actor, user = pair
        try:
            remove_member(project=project, actor=actor, user=user)
        except Refusal as refusal:
            return refusal.code
        finally:
            connections.close_all()
        return "removed"

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(remove, [(mara, nora), (nora, mara)]))
    assert sorted(answers) == ["last_manager", "removed"]


def test_removing_is_undone_by_giving_the_roles_back(project: Project, mara: User, ann: User) -> None:
    removed = remove_member(project=project, actor=mara, user=ann)
    assert removed.before is not None
    assert remove_member(project=project, actor=mara, user=ann).before is None
    set_member(project=project, actor=mara, user=ann, roles=removed.before)
    assert Membership.objects.get(user=ann).roles == ["annotator"]
    assert kinds(project)[-2:] == ["member_removed", "member_joined"]


@pytest.mark.parametrize("change", [{"is_active": False}, {"imported": True}])
def test_a_user_who_cannot_sign_in_cannot_join(
    project: Project, mara: User, joins: Joins, change: dict[str, bool]
) -> None:
    joins("nora")
    User.objects.filter(username="nora").update(**change)
    with pytest.raises(Refusal) as refused:
        set_member(project=project, actor=mara, user=User.objects.get(username="nora"), roles=["annotator"])
    assert refused.value.code == "cannot_join"


def invitation(project: Project, mara: User, **about: Any) -> dict[str, Any]:
    values = {
        "project": project,
        "actor": mara,
        "invitation_id": uuid4(),
        "username": "nora",
        "roles": ["annotator"],
    }
    return {**values, **about}


def test_an_invitation_makes_an_account_that_is_a_member(project: Project, mara: User) -> None:
    nora, plain = invite_person(**invitation(project, mara, email="nora@example.org", display_name="Nora"))
    assert nora.check_password(plain)
    assert Membership.objects.get(user=nora).roles == ["annotator"]


def test_the_same_invitation_again_is_one_account_whose_last_password_works(
    project: Project, mara: User
) -> None:
    sent = invitation(project, mara)
    _nora, lost = invite_person(**sent)
    nora, plain = invite_person(**sent)
    assert User.objects.filter(username="nora").count() == 1
    nora.refresh_from_db()
    assert nora.check_password(plain)
    assert not nora.check_password(lost)


@pytest.mark.parametrize(
    "changes",
    [
        {"username": "norah"},
        {"email": "nora@example.org"},
        {"display_name": "Nora"},
        {"language": "zh-hans"},
        {"roles": ["annotator", "trainer"]},
    ],
)
def test_the_id_of_another_invitation_is_refused(
    project: Project, mara: User, changes: dict[str, Any]
) -> None:
    fields = invitation(project, mara)
    nora, plain = invite_person(**fields)
    with pytest.raises(Refusal) as refused:
        invite_person(**{**fields, **changes})
    assert refused.value.code == "id_in_use"
    nora.refresh_from_db()
    assert nora.check_password(plain)


def test_an_invitation_that_is_refused_leaves_nothing(project: Project, mara: User, ann: User) -> None:
    mistakes: list[dict[str, Any]] = [
        {"roles": []},
        {"username": "ann"},
        {"email": "ann@example.org"},
        {"username": "no name"},
    ]
    for wrong in mistakes:
        with pytest.raises(Refusal):
            invite_person(**invitation(project, mara, **wrong))
    assert not User.objects.filter(username="nora").exists()


def test_after_the_first_sign_in_an_invitation_is_over(project: Project, mara: User) -> None:
    sent = invitation(project, mara)
    nora, _plain = invite_person(**sent)
    User.objects.filter(pk=nora.pk).update(temporary_password_until=None)
    for attempt in (
        lambda: invite_person(**sent),
        lambda: renew_invitation(project=project, actor=mara, user=nora),
    ):
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.code == "password_is_own"


def test_a_manager_cannot_take_over_an_account_by_adding_it(
    project: Project, mara: User, joins: Joins
) -> None:
    """Somebody invited to another project, and a superuser who has not signed in yet."""
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    nora, _plain = invite_person(**invitation(other, mara))
    set_member(project=project, actor=mara, user=nora, roles=["annotator"])
    root = joins("root", project, Role.ANNOTATOR)
    User.objects.filter(pk=root.pk).update(is_superuser=True, temporary_password_until="2100-01-01T00:00Z")
    for user in (nora, User.objects.get(pk=root.pk)):
        with pytest.raises(Refusal) as refused:
            renew_invitation(project=project, actor=mara, user=user)
        assert refused.value.code == "not_yours"


def test_an_invitation_cannot_be_renewed_from_elsewhere(project: Project, mara: User) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    sent = invitation(project, mara)
    nora, _plain = invite_person(**sent)
    with pytest.raises(NotFound):
        renew_invitation(project=other, actor=mara, user=nora)
    with pytest.raises(Refusal) as refused:
        invite_person(**{**sent, "project": other})
    assert refused.value.code == "id_in_use"
