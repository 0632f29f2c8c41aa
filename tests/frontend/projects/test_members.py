"""The page of a project's members: ticks, undo, invitations, search."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from projects.models import Event, Membership, Project
from projects.services import invite_person
from tests.conftest import Joins
from tests.frontend.projects.test_projects import text_of

pytestmark = pytest.mark.django_db
Acts = Callable[..., Any]


@pytest.fixture
def acts(maras_browser: Client) -> Acts:
    """acts("roles", "ann", roles=[…]) sends what htmx sends."""

    def act(name: str, username: str, **form: Any) -> Any:
        address = reverse(f"member_{name}", args=["chit-chat", username])
        return maras_browser.post(address, form, headers={"HX-Request": "true"})

    return act


def test_a_tick_changes_the_roles_and_offers_the_way_back(acts: Acts, project: Project, ann: User) -> None:
    html = text_of(acts("roles", "ann", roles=["annotator", "trainer"]))
    assert Membership.objects.get(user=ann).roles == ["annotator", "trainer"]
    assert "Undo" in html
    assert 'name="before" value="annotator">' in html


def test_a_removed_line_offers_the_way_back(acts: Acts, project: Project, ann: User) -> None:
    html = text_of(acts("remove", "ann"))
    assert not Membership.objects.filter(user=ann).exists()
    assert "is no longer a member" in html
    acts("roles", "ann", before=re.findall(r'name="before" value="([\w,]+)"', html))
    assert Membership.objects.get(user=ann).roles == ["annotator"]


def test_a_refused_tick_is_reported_and_the_row_shows_the_current_roles(acts: Acts, project: Project) -> None:
    answer = acts("roles", "mara", roles=["trainer"])
    assert answer.status_code == 200
    assert "only manager" in answer.headers["HX-Trigger"]
    assert re.search(r'value="manager"[^>]*checked', text_of(answer), re.DOTALL)
    answer = acts("remove", "mara")
    assert "only manager" in answer.headers["HX-Trigger"]


def test_a_manager_says_which_languages_a_member_reads(acts: Acts, project: Project, ann: User) -> None:
    html = text_of(acts("languages", "ann", reading_languages=["zh", "de"]))
    ann.refresh_from_db()
    assert ann.reading_languages == ["zh", "de"]
    assert re.search(r"</span>\s*中文, Deutsch\s*</summary>", html)
    assert "All languages" in text_of(acts("languages", "ann"))
    ann.refresh_from_db()
    assert ann.reading_languages == []
    events = Event.objects.filter(kind="member_languages").values_list("data__after", flat=True)
    assert list(events) == [[], ["zh", "de"]]


def test_only_languages_of_members_and_only_known_ones_are_changed(
    acts: Acts, project: Project, ann: User, joins: Joins
) -> None:
    stranger = joins("stranger")
    assert acts("languages", "stranger", reading_languages=["zh"]).status_code == 404
    assert "not a valid choice" in acts("languages", "ann", reading_languages=["xx"]).headers["HX-Trigger"]
    for person in (stranger, ann):
        person.refresh_from_db()
        assert person.reading_languages == []


def test_no_role_at_all_is_refused(acts: Acts, project: Project, ann: User) -> None:
    assert "HX-Trigger" in acts("roles", "ann").headers
    assert Membership.objects.get(user=ann).roles == ["annotator"]


def test_without_script_the_form_leads_back_to_the_page(
    maras_browser: Client, project: Project, ann: User
) -> None:
    answer = maras_browser.post(reverse("member_remove", args=["chit-chat", "ann"]))
    assert answer.headers["Location"] == reverse("members", args=["chit-chat"])


def test_somebody_is_added_by_address(maras_browser: Client, project: Project, joins: Joins) -> None:
    nora = joins("nora")
    form = {"who": "NORA@example.org", "roles": ["controller"]}
    maras_browser.post(reverse("member_add", args=["chit-chat"]), form)
    assert Membership.objects.get(user=nora).roles == ["controller"]


def test_somebody_unknown_is_refused_beside_the_field(maras_browser: Client, project: Project) -> None:
    answer = maras_browser.post(
        reverse("member_add", args=["chit-chat"]), {"who": "nobody", "roles": ["annotator"]}
    )
    assert answer.status_code == 422
    assert "There is nobody with the sign-in name" in text_of(answer)
    assert 'value="nobody"' in text_of(answer)


def invite(browser: Client, **about: Any) -> Any:
    form = {"username": "nora", "roles": ["annotator"], "invitation_id": str(uuid4()), **about}
    return browser.post(reverse("member_invite", args=["chit-chat"]), form)


def test_an_account_is_made_and_its_password_shown_once(maras_browser: Client, project: Project) -> None:
    answer = invite(maras_browser)
    plain = re.search(r"(?:[a-z2-9]{4}-){3}[a-z2-9]{4}", text_of(answer))
    assert plain is not None
    assert User.objects.get(username="nora").check_password(plain[0])
    assert "no-store" in answer.headers["Cache-Control"]
    assert plain[0] not in text_of(maras_browser.get(reverse("members", args=["chit-chat"])))
    assert "Not signed in yet" in text_of(maras_browser.get(reverse("members", args=["chit-chat"])))


def test_an_account_that_cannot_be_made_is_refused_beside_the_field(
    maras_browser: Client, project: Project, ann: User
) -> None:
    answer = invite(maras_browser, username="ann")
    assert answer.status_code == 422
    assert "There is already somebody with the sign-in name" in text_of(answer)


def test_a_new_one_time_password_is_given_on_the_page(
    maras_browser: Client, project: Project, mara: User
) -> None:
    nora, first = invite_person(
        project=project, actor=mara, invitation_id=uuid4(), username="nora", roles=["annotator"]
    )
    maras_browser.post(reverse("member_password", args=["chit-chat", "nora"]))
    nora.refresh_from_db()
    assert not nora.check_password(first)


@pytest.mark.parametrize("name", ["roles", "remove", "password"])
def test_only_managers_act_on_members(
    client: Client, project: Project, eric: User, ann: User, name: str
) -> None:
    client.force_login(eric)
    answer = client.post(reverse(f"member_{name}", args=["chit-chat", "ann"]), {"roles": ["manager"]})
    assert answer.status_code == 403
    assert Membership.objects.get(user=ann).roles == ["annotator"]


@pytest.mark.parametrize(
    "search, found", [("ann", True), ("AN", True), ("ann@", False), ("nobody", False), ("%", False)]
)
def test_members_are_searched(
    maras_browser: Client, project: Project, ann: User, search: str, found: bool
) -> None:
    html = text_of(maras_browser.get(reverse("members", args=["chit-chat"]), {"q": search}))
    assert (f'id="member-{ann.pk}"' in html) == found


def test_nobody_learns_the_address_of_a_person_added_by_name(
    maras_browser: Client, project: Project, mara: User
) -> None:
    User.objects.create(username="zoe", email="zoe@private.example")
    added = maras_browser.post(
        reverse("member_add", args=["chit-chat"]), {"who": "zoe", "roles": ["annotator"]}
    )
    page = maras_browser.get(reverse("members", args=["chit-chat"]))
    answers = [added, page, maras_browser.get("/api/v1/projects/chit-chat/members/")]
    assert "zoe" in text_of(page)
    assert Membership.objects.filter(user__username="zoe").exists()
    assert not [answer for answer in answers if "private.example" in answer.content.decode()]


def test_the_page_of_members_costs_the_same_with_many(
    maras_browser: Client, project: Project, django_assert_max_num_queries: Any
) -> None:
    people = User.objects.bulk_create(User(username=f"u{n}") for n in range(120))
    Membership.objects.bulk_create(
        Membership(project=project, user=person, roles=["annotator"]) for person in people
    )
    with django_assert_max_num_queries(12):
        html = text_of(maras_browser.get(reverse("members", args=["chit-chat"])))
    assert html.count('<tbody id="member-') == 50
    assert "Older" in html
