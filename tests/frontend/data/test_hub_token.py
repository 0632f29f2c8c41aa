"""The page of a project's Hub token, and what the page of a snapshot says of it."""

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import User
from accounts.services import create_user
from preference.data.models.hub_tokens import HubToken
from preference.data.services.hub_tokens import set_hub_token
from projects.models import Project
from tests.frontend.data_pages import html

TOKEN = "hf_first_secret"


@pytest.fixture
def maras(client: Client, mara: User) -> Client:
    client.force_login(mara)
    return client


def address(project: Project) -> str:
    return reverse("hub_token", args=[project.slug])


def test_a_manager_stores_replaces_and_removes_it_on_the_page(maras: Client, project: Project) -> None:
    assert address(project) in html(maras.get(reverse("project_settings", args=[project.slug])))
    page = html(maras.get(address(project)))
    assert "This project has no token yet, so its snapshots cannot be pushed." in page
    page = html(maras.post(address(project), {"token": TOKEN}, follow=True))
    assert "mara set the token on" in page.lower()
    assert "Replace the token" in page
    assert TOKEN not in page
    page = html(maras.post(reverse("hub_token_remove", args=[project.slug]), follow=True))
    assert "Store the token" in page
    assert not HubToken.objects.exists()


def test_a_wrong_token_is_explained_and_not_shown_again(maras: Client, project: Project) -> None:
    answer = maras.post(address(project), {"token": f"{TOKEN} and more"})
    assert (answer.status_code, TOKEN in html(answer)) == (422, False)
    assert "Paste the whole token" in html(answer)


def test_the_page_says_that_the_token_of_the_installation_is_used(
    maras: Client, project: Project, settings: Settings
) -> None:
    settings.HUB_TOKEN_SHARED = True
    assert "pushed with that of the installation" in html(maras.get(address(project)))


def test_an_engineer_has_no_such_page(client: Client, eric: User, project: Project) -> None:
    client.force_login(eric)
    assert client.get(address(project)).status_code == 403
    assert address(project) not in html(client.get(reverse("project_settings", args=[project.slug])))


def test_the_administration_shows_whose_it_is_and_not_the_encrypted_text(
    client: Client, mara: User, project: Project
) -> None:
    row = set_hub_token(project=project, actor=mara, token=TOKEN)
    root, _password = create_user(username="root", password="correct horse battery", is_superuser=True)
    client.force_login(root)
    page = html(client.get(reverse("admin:preference_hubtoken_change", args=[row.pk])))
    assert "mara" in page
    assert TOKEN not in page
    assert row.sealed not in page


def test_the_history_shows_the_change_without_the_token(maras: Client, mara: User, project: Project) -> None:
    set_hub_token(project=project, actor=mara, token=TOKEN)
    page = html(maras.get(reverse("history", args=[project.slug])))
    assert "Hub token set" in page
    assert TOKEN not in page
