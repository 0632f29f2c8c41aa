"""The administration pages: for superusers, to look; every model is there, and lists stay cheap."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import ApiToken, User
from accounts.services import create_token, create_user
from projects.models import Project
from tests.api.test_queries import LISTS
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
OURS = ("accounts", "projects", "jobs", "dialogues", "generation", "annotation", "preference")
MODELS = [model for app in OURS for model in apps.get_app_config(app).get_models()]


@pytest.fixture
def root(client: Client) -> Client:
    """The browser of a superuser."""
    user, _password = create_user(username="root", password="correct horse battery", is_superuser=True)
    client.force_login(user)
    return client


def page(model: type, kind: str = "changelist", *args: object) -> str:
    meta = model._meta  # type: ignore[attr-defined]
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{kind}", args=args)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_every_model_can_be_looked_up_and_searched(root: Client, model: type) -> None:
    assert model in admin.site._registry
    assert root.get(page(model)).status_code == 200
    assert root.get(page(model), {"q": "1"}).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_the_administration_deletes_nothing_and_edits_only_people(root: Client, model: type) -> None:
    model_admin = admin.site._registry[model]
    request = root.get(page(model)).wsgi_request
    assert not model_admin.has_delete_permission(request)
    if model is User:
        assert model_admin.has_change_permission(request)
    elif model._meta.label != "generation.Generator":  # type: ignore[attr-defined]
        assert not model_admin.has_change_permission(request)
        assert not model_admin.has_add_permission(request)


def test_the_pages_of_the_administration_are_closed_to_others(client: Client, mara: User) -> None:
    client.force_login(mara)
    assert client.get(page(User)).status_code in (302, 403)


def test_guests_sign_in_where_everybody_does(client: Client) -> None:
    """The administration's own form would know neither the rate limit nor the second factor."""
    response = client.get("/admin/login/")
    assert response.status_code == 302
    assert response.headers["Location"].startswith(reverse("account_login"))


def test_lists_cost_the_same_with_many_rows(root: Client, project: Project, joins: Joins) -> None:
    olga = joins("olga")

    def queries() -> list[int]:
        counts = []
        for model in MODELS:
            with CaptureQueriesContext(connection) as queries:
                assert root.get(page(model)).status_code == 200
            counts.append(len(queries))
        return counts

    for _path, fill in LISTS:
        fill(project, olga, 2)
    few = queries()
    for _path, fill in LISTS:
        fill(project, olga, 20)
    assert queries() == few


def test_a_token_is_revoked_from_its_list(root: Client, ann: User) -> None:
    token, _plain = create_token(user=ann, name="lost laptop", scopes=["read"])
    root.post(page(ApiToken), {"action": "revoke", "_selected_action": [token.pk]})
    token.refresh_from_db()
    assert not token.is_live


def test_no_page_shows_a_hash(root: Client, ann: User) -> None:
    token, _plain = create_token(user=ann, name="x", scopes=["read"])
    html = root.get(page(ApiToken, "change", token.pk)).content.decode()
    assert token.prefix in html
    assert token.digest not in html
