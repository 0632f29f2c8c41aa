"""Agreement and UCH over the API: what the commands print, a page at a time."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from annotation.labelling.services.statistics import current_statistics
from projects.models import Project, Role
from tests.annotation.labelling.test_agreement import helpdesk, json_output, labelled, people

__all__ = ["helpdesk", "labelled", "people"]
AGREEMENT, UCH = "/api/v1/projects/helpdesk/agreement/", "/api/v1/projects/helpdesk/uch/"


@pytest.fixture
def erics(client: Client, labelled: Project, joins: Callable[..., User]) -> Client:
    client.force_login(joins("eric", labelled, Role.ENGINEER))
    return client


def test_agreement_is_what_the_command_prints(erics: Client, labelled: Project) -> None:
    expected = json_output("agreement", "helpdesk")
    assert erics.get(AGREEMENT).json() == expected
    current_statistics(project=labelled)
    assert erics.get(AGREEMENT).json() == expected


def test_uch_is_what_the_command_prints(erics: Client) -> None:
    told_here = erics.get(UCH).json()
    assert (told_here.pop("next"), told_here.pop("previous")) == (None, None)
    assert told_here == json_output("uch", "helpdesk")


def test_uch_takes_its_parameters(erics: Client) -> None:
    told_here = erics.get(f"{UCH}?patience=66&alpha=0&position=end").json()
    assert (told_here["L"], told_here["alpha"], told_here["position"]) == (66, 0, "end")
    expected = json_output("uch", "helpdesk", "--patience", "66", "--alpha", "0", "--position", "end")
    assert told_here["dialogues"] == expected["dialogues"]


def test_uch_comes_in_pages_of_one_scale(erics: Client) -> None:
    first = erics.get(f"{UCH}?page_size=1").json()
    second = erics.get(first["next"]).json()
    assert [dialogue["id"] for dialogue in first["dialogues"] + second["dialogues"]] == ["d1", "d2"]
    assert first["L"] == second["L"] == 33
    assert second["next"] is None


@pytest.mark.parametrize("query", ["patience=0", "patience=nan", "alpha=2", "alpha=inf", "position=middle"])
def test_uch_refuses_what_means_nothing(erics: Client, query: str) -> None:
    assert erics.get(f"{UCH}?{query}").status_code == 400


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER])
@pytest.mark.parametrize("address", [AGREEMENT, UCH])
def test_annotators_and_controllers_do_not_read_it(
    client: Client, labelled: Project, joins: Callable[..., User], role: Role, address: str
) -> None:
    client.force_login(joins("tina", labelled, role))
    assert client.get(address).status_code == 403


@pytest.mark.parametrize("name", ["agreement", "uch"])
def test_an_authoring_project_has_neither(client: Client, eric: User, project: Project, name: str) -> None:
    client.force_login(eric)
    assert client.get(f"/api/v1/projects/chit-chat/{name}/").status_code == 404


def test_a_constant_number_of_queries(erics: Client, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(15):
        erics.get(UCH)
