"""A project's token for a Hub: set, replaced and removed through the API, never shown."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.core import serializers
from django.db import connection
from django.test import Client

from accounts.models import User
from annotation.project_setup.copying import copy_project
from annotation.project_setup.services import create_project
from preference.data.models.hub_tokens import HubToken
from preference.data.selectors.hub_tokens import hub_token_state, token_for_push
from preference.data.services.hub_tokens import remove_hub_token, set_hub_token
from projects.models import Event, Project
from tests.preference.conftest import refused

TOKEN, OTHER = "hf_first_secret", "hf_second_secret"
ADDRESS = "/api/v1/projects/chit-chat/hub-token/"


@pytest.fixture
def maras(client: Client, mara: User) -> Client:
    client.force_login(mara)
    return client


def put(client: Client, token: Any) -> Any:
    return client.put(ADDRESS, {"token": token}, content_type="application/json")


def test_a_manager_sets_replaces_and_removes_it(maras: Client, project: Project, mara: User) -> None:
    assert maras.get(ADDRESS).json() == {"is_set": False, "set_by": None, "set_at": None, "shared": False}
    for token in (TOKEN, OTHER):
        answer = put(maras, token)
        assert (answer.status_code, answer.json()["is_set"], answer.json()["set_by"]) == (200, True, "mara")
        assert token_for_push(project).value == token
    assert maras.delete(ADDRESS).json()["is_set"] is False
    assert maras.delete(ADDRESS).status_code == 200
    kinds = Event.objects.filter(kind__startswith="hub_token").order_by("id").values_list("kind", "actor")
    assert list(kinds) == [
        ("hub_token_set", mara.pk),
        ("hub_token_replaced", mara.pk),
        ("hub_token_removed", mara.pk),
    ]


def test_the_same_token_again_changes_nothing(maras: Client, project: Project) -> None:
    put(maras, TOKEN)
    before = HubToken.objects.values().get()
    put(maras, TOKEN)
    assert HubToken.objects.values().get() == before
    assert Event.objects.filter(kind__startswith="hub_token").count() == 1


def test_no_answer_event_or_log_line_shows_it(
    maras: Client, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    shown = [put(maras, TOKEN).content.decode(), maras.get(ADDRESS).content.decode()]
    shown += [
        maras.get(f"/api/v1/projects/{project.slug}/{part}").content.decode() for part in ("", "events/")
    ]
    shown += [put(maras, f"{TOKEN} with words").content.decode(), put(maras, [TOKEN]).content.decode()]
    shown += [
        maras.post(ADDRESS, {"token": TOKEN}).content.decode(),
        caplog.text,
        repr(token_for_push(project)),
    ]
    assert TOKEN not in "".join(shown)


def test_the_database_holds_it_only_encrypted(project: Project, mara: User) -> None:
    set_hub_token(project=project, actor=mara, token=TOKEN)
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(t)::text FROM preference_hubtoken t")
        (row,) = cursor.fetchone()
    dumped = serializers.serialize("json", HubToken.objects.all())
    assert TOKEN not in row + dumped
    assert json.loads(row)["sealed"]


@pytest.mark.parametrize(
    "token", ["", "short", "hf_two words", "hf_zeile\numbruch", "hf_ключ_secret", "x" * 501]
)
def test_a_text_that_cannot_be_a_token_is_refused(maras: Client, project: Project, token: str) -> None:
    answer = put(maras, token)
    assert answer.status_code == 400, answer.content
    assert not HubToken.objects.exists()


def test_spaces_around_a_pasted_token_are_dropped(project: Project, mara: User) -> None:
    set_hub_token(project=project, actor=mara, token=f" {TOKEN}\n")
    assert token_for_push(project).value == TOKEN


def test_an_engineer_sees_that_it_is_set_and_cannot_change_it(
    client: Client, eric: User, mara: User, project: Project
) -> None:
    set_hub_token(project=project, actor=mara, token=TOKEN)
    client.force_login(eric)
    assert client.get(ADDRESS).json()["set_by"] == "mara"
    assert (put(client, OTHER).status_code, client.delete(ADDRESS).status_code) == (403, 403)
    assert token_for_push(project).value == TOKEN


@pytest.mark.parametrize("name", ["ann", "carlos"])
def test_others_do_not_learn_whether_it_is_set(
    request: pytest.FixtureRequest, client: Client, project: Project, name: str
) -> None:
    client.force_login(request.getfixturevalue(name))
    assert client.get(ADDRESS).status_code == 403


def test_each_project_has_its_own_and_a_copy_has_none(project: Project, mara: User) -> None:
    set_hub_token(project=project, actor=mara, token=TOKEN)
    other = create_project(actor=mara, preset="diamante", slug="other", title="Other")
    set_hub_token(project=other, actor=mara, token=OTHER)
    made = copy_project(
        source=project, actor=mara, creation_id=uuid4(), slug="copied", title="Copied", with_people=True
    )
    assert [token_for_push(row).value for row in (project, other)] == [TOKEN, OTHER]
    assert not hub_token_state(made).is_set
    remove_hub_token(project=other, actor=mara)
    assert token_for_push(project).value == TOKEN
    with refused("no_token"):
        token_for_push(other)
