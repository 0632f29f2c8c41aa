"""Projects, members and events over the API: what each role may, and that a second send changes nothing."""

from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.authoring.models import AuthoringSettings
from projects.models import Membership, Project, Role
from tests.api.conftest import Program
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
PROJECT = "/api/v1/projects/chit-chat/"


def test_ann_sees_her_projects_and_her_roles_in_them(program: Program, ann: User) -> None:
    Project.objects.create(slug="other", title="Other", protocol="authoring")
    rows = program(ann).get("/api/v1/projects/").json()["results"]
    assert [(row["slug"], row["roles"]) for row in rows] == [("chit-chat", ["annotator"])]


def test_a_project_lists_the_capabilities_of_the_caller(program: Program, ann: User) -> None:
    project_json = program(ann).get(PROJECT).json()
    assert project_json["capabilities"] == ["annotate", "see"]
    assert project_json["guidelines_zh"].startswith("# ")


def test_the_manager_changes_it_and_the_version_protects_it(
    program: Program, mara: User, project: Project
) -> None:
    api = program(mara)
    version = api.get(PROJECT).json()["version"]
    changed = api.patch(PROJECT, {"title": "Chats", "version": version}, format="json").json()
    assert changed["title"] == "Chats"
    late = api.patch(PROJECT, {"title": "Late", "version": version}, format="json")
    assert (late.status_code, late.json()["code"]) == (409, "changed_meanwhile")
    assert late.json()["version"] == changed["version"]


def test_ann_may_not_change_it(program: Program, ann: User) -> None:
    answer = program(ann).patch(PROJECT, {"title": "Mine"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


def test_only_managers_archive(program: Program, eric: User, mara: User) -> None:
    assert program(eric).patch(PROJECT, {"archived": True}, format="json").status_code == 403
    both = {"title": "Half a change", "archived": True}
    assert program(eric).patch(PROJECT, both, format="json").status_code == 403
    assert not Project.objects.filter(title="Half a change").exists()
    api = program(mara)
    assert api.patch(PROJECT, {"archived": True}, format="json").json()["archived_at"]
    assert api.get("/api/v1/projects/").json()["results"] == []
    assert api.patch(PROJECT, {"archived": False}, format="json").json()["archived_at"] is None


def new_project(**about: Any) -> dict[str, Any]:
    return {"id": str(uuid4()), "slug": "helpdesk", "preset": "diamante", **about}


def test_a_manager_makes_a_project_and_manages_it(program: Program, mara: User, project: Project) -> None:
    sent = new_project(title="Help desk", language="zh")
    answer = program(mara).post("/api/v1/projects/", sent, format="json")
    assert answer.status_code == 201
    assert (answer.json()["roles"], answer.json()["language"]) == (["manager"], "zh")
    repeated = program(mara).post("/api/v1/projects/", sent, format="json")
    assert repeated.json() == answer.json()
    assert Project.objects.filter(slug="helpdesk").count() == 1


def test_a_short_name_that_is_taken_is_refused(program: Program, mara: User, project: Project) -> None:
    answer = program(mara).post("/api/v1/projects/", new_project(slug="chit-chat"), format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "slug_taken")


def test_ann_makes_no_project(program: Program, ann: User) -> None:
    assert program(ann).post("/api/v1/projects/", new_project(), format="json").status_code == 403


def test_how_dialogues_are_written_is_read_and_changed(
    program: Program, eric: User, project: Project
) -> None:
    api, address = program(eric), f"{PROJECT}authoring/"
    assert api.get(address).json()["candidates"] == 7
    changed = api.patch(address, {"candidates": 5, "generator": None}, format="json").json()
    assert (changed["candidates"], changed["generator"]) == (5, None)
    settings = AuthoringSettings.objects.get(project=project)
    assert (settings.candidates, settings.generator) == (5, None)


@pytest.mark.parametrize(
    "change", [{"candidates": 10}, {"temperature": 0}, {"generator": "nobody"}, {"speed": 3}]
)
def test_a_senseless_setting_is_refused(
    program: Program, eric: User, project: Project, change: dict[str, Any]
) -> None:
    answer = program(eric).patch(f"{PROJECT}authoring/", change, format="json")
    assert answer.status_code == 400
    assert set(answer.json()["errors"]) == set(change)
    assert AuthoringSettings.objects.get(project=project).candidates == 7


def test_somebody_is_added_changed_and_removed(
    program: Program, mara: User, project: Project, joins: Joins
) -> None:
    joins("nora")
    api = program(mara)
    sent = {"who": "nora@example.org", "roles": ["trainer"]}
    assert api.post(f"{PROJECT}members/", sent, format="json").status_code == 201
    assert api.post(f"{PROJECT}members/", sent, format="json").status_code == 200
    changed = api.put(f"{PROJECT}members/nora/", {"roles": ["engineer"]}, format="json").json()
    assert (changed["before"], changed["after"]) == (["trainer"], ["engineer"])
    removed = api.delete(f"{PROJECT}members/nora/").json()
    assert (removed["before"], removed["after"]) == (["engineer"], None)
    assert api.put(f"{PROJECT}members/nora/", {"roles": removed["before"]}, format="json").status_code == 200
    assert Membership.objects.get(user__username="nora").roles == ["engineer"]


def test_a_manager_says_which_languages_a_member_reads(
    program: Program, mara: User, ann: User, project: Project, joins: Joins
) -> None:
    joins("nora")
    api = program(mara)
    answer = api.patch(f"{PROJECT}members/ann/", {"reading_languages": ["zh", "en"]}, format="json")
    assert answer.json()["reading_languages"] == ["en", "zh"]
    assert program(ann).get("/api/v1/me/").json()["reading_languages"] == ["en", "zh"]
    wrong = api.patch(f"{PROJECT}members/ann/", {"reading_languages": ["klingon"]}, format="json")
    assert wrong.status_code == 400
    assert api.patch(f"{PROJECT}members/nora/", {"reading_languages": []}, format="json").status_code == 404
    assert (
        program(ann).patch(f"{PROJECT}members/ann/", {"reading_languages": []}, format="json").status_code
        == 403
    )
    own = program(ann).patch("/api/v1/me/", {"reading_languages": []}, format="json")
    assert own.json()["reading_languages"] == []


def test_a_manager_moves_a_member_into_a_group(
    program: Program, mara: User, ann: User, project: Project
) -> None:
    api = program(mara)
    answer = api.patch(f"{PROJECT}members/ann/", {"group": " night  shift "}, format="json")
    assert (answer.status_code, answer.json()["group"]) == (200, "night shift")
    rows = api.get(f"{PROJECT}members/").json()["results"]
    assert {row["username"]: row["group"] for row in rows}["ann"] == "night shift"
    assert api.patch(f"{PROJECT}members/ann/", {"group": "x" * 41}, format="json").status_code == 400
    both = {"group": "", "reading_languages": ["klingon"]}
    assert api.patch(f"{PROJECT}members/ann/", both, format="json").status_code == 400
    assert Membership.objects.get(user=ann).group == "night shift"
    assert program(ann).patch(f"{PROJECT}members/ann/", {"group": ""}, format="json").status_code == 403


def test_the_last_manager_is_not_removed(program: Program, mara: User, project: Project) -> None:
    answer = program(mara).delete(f"{PROJECT}members/mara/")
    assert (answer.status_code, answer.json()["code"]) == (409, "last_manager")


def test_an_invitation_shows_its_password_once(program: Program, mara: User, project: Project) -> None:
    sent = {"id": str(uuid4()), "username": "nora", "roles": ["annotator"]}
    answer = program(mara).post(f"{PROJECT}invitations/", sent, format="json")
    assert answer.status_code == 201
    assert User.objects.get(username="nora").check_password(answer.json()["one_time_password"])
    assert "one_time_password" not in str(program(mara).get(f"{PROJECT}members/").json())


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER, Role.TRAINER, Role.ENGINEER])
def test_only_managers_see_and_change_members_and_events(
    program: Program, project: Project, joins: Joins, role: Role
) -> None:
    api = program(joins("nora", project, role))
    for name in ("members", "events"):
        assert api.get(f"{PROJECT}{name}/").status_code == 403
    mine = api.put(f"{PROJECT}members/nora/", {"roles": ["manager"]}, format="json")
    assert mine.status_code == 403
    assert Membership.objects.get(user__username="nora").roles == [role]


def test_events_name_the_actor_and_can_be_filtered(program: Program, mara: User, ann: User) -> None:
    api = program(mara)
    api.put(f"{PROJECT}members/ann/", {"roles": ["trainer"]}, format="json")
    api.patch(PROJECT, {"title": "Chats"}, format="json")
    newest = api.get(f"{PROJECT}events/").json()["results"]
    assert [event["kind"] for event in newest[:2]] == ["edited", "member_roles"]
    assert newest[1]["actor"] == "mara"
    only = api.get(f"{PROJECT}events/", {"kind": "member_roles", "actor": "mara"}).json()["results"]
    assert [event["data"]["after"] for event in only] == [["trainer"]]
    assert api.get(f"{PROJECT}events/", {"actor": "nobody"}).json()["results"] == []
