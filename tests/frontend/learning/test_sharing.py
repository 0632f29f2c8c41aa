"""Offering a trained model on its page, and accepting it on another project's list."""

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from generation.selectors import usable_generators
from preference.registry.models import RegisteredModel
from projects.models import Membership, Project, Role
from tests.frontend.data_pages import erics_browser, files_root, html
from tests.preference.learning import generator_of, snapshot_of, trained_model

__all__ = ["erics_browser", "files_root"]


@pytest.fixture
def model(settings: Settings, files_root: Path, project: Project, eric: User) -> RegisteredModel:
    settings.MODELS_ROOT = files_root / "models"
    project.authoring.generator = None  # the server's own model, which can be trained
    project.authoring.save()
    return trained_model(project, eric, snapshot_of(project))


@pytest.fixture
def other() -> Project:
    zoe = User.objects.create(username="zoe")
    return create_project(slug="other", preset="diamante", actor=zoe)


def test_two_managers_share_a_model(
    client: Client, project: Project, model: RegisteredModel, mara: User, other: Project
) -> None:
    page = f"/p/{project.slug}/models/{model.slug}/"
    client.force_login(mara)
    assert "Offer the model" in html(client.get(page))
    offered = client.post(f"{page}offer/", {"project": "other"}, follow=True)
    assert "A manager of" in html(offered)
    assert "offered" in html(client.get(page))
    client.force_login(User.objects.get(username="zoe"))
    listed = html(client.get("/p/other/models/"))
    assert "offered to this project" in listed
    assert project.title in listed
    accepted = client.post(f"/p/other/models/{model.slug}/accept/", follow=True)
    assert "shared with this project" in html(accepted)
    assert generator_of(model) in usable_generators(other)
    client.force_login(mara)
    client.post(f"{page}stop-sharing/", {"project": "other"})
    assert generator_of(model) not in usable_generators(other)
    assert "Stop sharing" not in html(client.get(page))


def test_an_unknown_project_is_said_on_the_page(
    client: Client, project: Project, model: RegisteredModel, mara: User
) -> None:
    client.force_login(mara)
    answer = client.post(f"/p/{project.slug}/models/{model.slug}/offer/", {"project": "nowhere"})
    assert answer.status_code == 409
    assert "no project with the short name" in html(answer)
    assert 'value="nowhere"' in html(answer)


def test_engineers_are_not_asked(
    erics_browser: Client, project: Project, model: RegisteredModel, eric: User
) -> None:
    page = f"/p/{project.slug}/models/{model.slug}/"
    assert Membership.objects.get(project=project, user=eric).roles == [Role.ENGINEER]
    assert "Offer the model" not in html(erics_browser.get(page))
    assert erics_browser.post(f"{page}offer/", {"project": project.slug}).status_code in (403, 404, 409)
