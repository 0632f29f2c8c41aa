"""The page that a link to a new password opens, and where managers and operators make one."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from projects.models import Membership, Project, Role
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
NEW = "staple battery horse"
Makes = Callable[..., Any]


def link_in(answer: Any) -> str:
    found = re.search(r"http://localhost:8000(/account/password-link/[^<\s]+)", answer.content.decode())
    assert found, answer.content.decode()
    return found[1]


@pytest.fixture
def maras_browser(mara: User) -> Client:
    browser = Client()
    browser.force_login(mara)
    return browser


@pytest.fixture
def makes(maras_browser: Client, project: Project) -> Makes:
    return lambda name: maras_browser.post(reverse("member_password_link", args=["chit-chat", name]))


def choose(client: Client, link: str, password: str = NEW, repeated: str | None = None) -> Any:
    path, _, key = link.partition("?key=")
    form = {"key": key, "password": password, "repeated": repeated or password}
    return client.post(path, form)


def test_ann_sets_a_password_with_maras_link(client: Client, ann: User, makes: Makes) -> None:
    ann.set_password("correct horse battery")
    ann.save()
    elsewhere = Client()
    elsewhere.force_login(ann)
    made = makes("ann")
    link = link_in(made)
    assert "no-store" in made.headers["Cache-Control"]
    assert 'data-copy="#password-link"' in made.content.decode()
    assert "ann" in client.get(link).content.decode()
    assert choose(client, link).headers["Location"] == reverse("account_login")
    ann.refresh_from_db()
    assert ann.check_password(NEW)
    assert elsewhere.get(reverse("profile")).status_code == 302
    assert client.get(link).status_code == 410
    assert choose(client, link, "another good one").status_code == 410


def test_a_one_time_password_ends_with_the_link(client: Client, ann: User, makes: Makes) -> None:
    link = link_in(makes("ann"))
    choose(client, link)
    client.post(reverse("account_login"), {"login": "ann", "password": NEW})
    assert client.get(reverse("home")).status_code == 200


@pytest.mark.parametrize(
    ("password", "repeated", "why"),
    [(NEW, "something else", "differ"), ("password", None, "too common"), ("ann", None, "too short")],
)
def test_a_mistake_is_reported_beside_the_field(
    client: Client, ann: User, makes: Makes, password: str, repeated: str | None, why: str
) -> None:
    answer = choose(client, link_in(makes("ann")), password, repeated)
    assert answer.status_code == 422
    assert why in answer.content.decode()


def test_many_wrong_keys_have_to_wait(client: Client, ann: User, makes: Makes) -> None:
    path = link_in(makes("ann")).partition("?")[0]
    # 60 a minute are answered; on a slow machine a second minute may begin meanwhile.
    codes = [client.get(path, {"key": "x"}).status_code for _ in range(121)]
    assert codes[:60] == [410] * 60
    assert 429 in codes


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER, Role.TRAINER, Role.ENGINEER])
def test_other_roles_make_no_link(
    client: Client, project: Project, ann: User, joins: Joins, role: Role
) -> None:
    client.force_login(joins("nora", project, role))
    answer = client.post(reverse("member_password_link", args=["chit-chat", "ann"]))
    assert answer.status_code == 403


def test_strangers_and_guests_make_no_link(client: Client, project: Project, ann: User, joins: Joins) -> None:
    address = reverse("member_password_link", args=["chit-chat", "ann"])
    assert client.post(address).headers["Location"].startswith(reverse("account_login"))
    client.force_login(joins("stranger"))
    assert client.post(address).status_code == 404


def test_the_button_is_there_where_it_works(
    maras_browser: Client, project: Project, ann: User, bob: User
) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    Membership.objects.create(project=other, user=bob, roles=[Role.ANNOTATOR])
    html = maras_browser.get(reverse("members", args=["chit-chat"])).content.decode()
    shown = {
        name
        for name in ("ann", "bob", "mara")
        if reverse("member_password_link", args=["chit-chat", name]) in html
    }
    assert shown == {"ann"}


def test_operators_reach_the_page_from_the_person(client: Client, ann: User, joins: Joins) -> None:
    root = joins("root")
    User.objects.filter(pk=root.pk).update(is_superuser=True, is_staff=True)
    client.force_login(root)
    page = reverse("operator_password_link", args=[ann.pk])
    assert page in client.get(reverse("admin:accounts_user_change", args=[ann.pk])).content.decode()
    assert "Create the link" in client.get(page).content.decode()
    link = link_in(client.post(page))
    guest = Client()
    assert choose(guest, link).headers["Location"] == reverse("account_login")


def test_managers_do_not_reach_the_operators_page(maras_browser: Client, ann: User, project: Project) -> None:
    page = reverse("operator_password_link", args=[ann.pk])
    assert maras_browser.get(page).status_code == maras_browser.post(page).status_code == 404
