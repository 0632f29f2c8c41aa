"""Inviting by link on the pages: one person, a list with a preview, and the page that the link opens."""

import re
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.project_setup.services import create_project
from frontend.pages.projects.invitations import SHOWN_KEY
from projects.models import Invitation, InvitationState, Membership, Project, Role
from tests.conftest import Joins
from tests.frontend.projects.test_projects import text_of

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
LIST = "name,email,role,language\nNora,nora@example.org,annotator,zh\nOle,,controller,\n"


@pytest.fixture(autouse=True)
def no_earlier_attempts() -> None:
    cache.clear()


def page(name: str, *args: Any) -> str:
    return reverse(name, args=["chit-chat", *args])


def links_in(answer: Any) -> list[str]:
    return re.findall(r"http://localhost:8000(/invitation/\?key=[0-9a-f]{64})", unescape(text_of(answer)))


def invite_one(browser: Client, **about: Any) -> Any:
    form = {"name": "Nora", "email": "", "roles": ["annotator"], "request_id": str(uuid4()), **about}
    return browser.post(page("invite_one"), form, follow=True)


def send_list(browser: Client, people: str, **more: str) -> Any:
    sent = {"people": people, "request_id": str(uuid4()), **more}
    return browser.post(page("invite_list"), sent, follow=True)


def make_account(browser: Client, link: str, **about: str) -> Any:
    form = {"username": "nora", "display_name": "Nora", "password": PASSWORD, "repeated": PASSWORD, **about}
    return browser.post(reverse("invitation"), {"key": link.partition("=")[2], **form})


def test_nora_opens_her_link_and_is_a_member(client: Client, maras_browser: Client, project: Project) -> None:
    guest = Client()
    (link,) = links_in(invite_one(maras_browser))
    opened = guest.get(link)
    assert "Join “Chit-chat”" in text_of(opened)
    assert "no-store" in opened.headers["Cache-Control"]
    joined = make_account(guest, link, reading_languages="zh")
    assert joined.headers["Location"] == page("project")
    assert User.objects.get(username="nora").reading_languages == ["zh"]
    assert guest.get(page("project")).status_code == 200
    assert Membership.objects.get(user__username="nora").roles == ["annotator"]
    assert Client().get(link).status_code == 410
    assert "Joined" in text_of(maras_browser.get(page("invitations")))


def test_the_page_speaks_the_language_of_the_invitation(maras_browser: Client, project: Project) -> None:
    (link,) = links_in(invite_one(maras_browser, language="zh-hans"))
    guest = Client()
    assert "加入" in text_of(guest.get(link))
    make_account(guest, link)
    assert "你已加入" in text_of(guest.get(page("project")))
    assert User.objects.get(username="nora").language == "zh-hans"


def test_a_guest_who_chose_another_language_keeps_it(maras_browser: Client, project: Project) -> None:
    (link,) = links_in(invite_one(maras_browser, language="zh-hans"))
    guest = Client()
    guest.post(reverse("set_language"), {"language": "en"})
    assert "Join “Chit-chat”" in text_of(guest.get(link))
    make_account(guest, link)
    assert User.objects.get(username="nora").language == "en"


def test_somebody_with_an_account_signs_in_and_joins(
    maras_browser: Client, project: Project, joins: Joins
) -> None:
    nora = joins("nora")
    (link,) = links_in(invite_one(maras_browser))
    guest = Client()
    assert "next=/invitation/%3Fkey" in text_of(guest.get(link)).replace("%2F", "/")
    guest.force_login(nora)
    assert "You are signed in as nora" in text_of(guest.get(link))
    key = {"key": link.partition("=")[2]}
    for _ in range(2):
        assert guest.post(reverse("invitation"), key).headers["Location"] == page("project")
    assert Membership.objects.get(user=nora).roles == ["annotator"]


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"username": "mara"}, "There is already somebody"),
        ({"repeated": "x"}, "differ"),
        ({"password": "nora", "repeated": "nora"}, "too short"),
        ({"username": "no ra"}, "valid sign-in name"),
        ({"username": "mara"}, "Choose another name.<"),
    ],
)
def test_a_mistake_is_reported_beside_the_field(
    maras_browser: Client, project: Project, about: dict[str, str], why: str
) -> None:
    (link,) = links_in(invite_one(maras_browser))
    guest = Client()
    answer = make_account(guest, link, **about)
    assert answer.status_code == 422
    assert why in text_of(answer)
    assert make_account(guest, link).status_code == 302


def test_a_taken_name_and_a_weak_password_are_both_reported(maras_browser: Client, project: Project) -> None:
    (link,) = links_in(invite_one(maras_browser))
    answer = text_of(make_account(Client(), link, username="mara", password="nora", repeated="nora"))
    assert "There is already somebody" in answer
    assert "add that person" not in answer
    assert "too short" in answer


def test_an_address_that_has_an_account_asks_the_guest_to_sign_in(
    maras_browser: Client, project: Project, ann: User
) -> None:
    (link,) = links_in(invite_one(maras_browser, email="nora@example.org"))
    User.objects.filter(pk=ann.pk).update(email="nora@example.org")
    answer = text_of(make_account(Client(), link, username="nora2"))
    assert "Sign in with that account instead." in answer


def test_the_rules_for_a_password_are_shown_before_the_first_try(
    maras_browser: Client, project: Project
) -> None:
    (link,) = links_in(invite_one(maras_browser))
    assert "must contain at least 8 characters." in text_of(Client().get(link))


def test_the_client_does_not_choose_its_roles(maras_browser: Client, project: Project) -> None:
    (link,) = links_in(invite_one(maras_browser))
    make_account(Client(), link, roles="manager", is_superuser="1", email="root@example.org")
    nora = User.objects.get(username="nora")
    assert Membership.objects.get(user=nora).roles == ["annotator"]
    assert (nora.is_superuser, nora.email) == (False, "")


def test_a_list_is_shown_before_anybody_is_invited(maras_browser: Client, project: Project) -> None:
    preview = send_list(maras_browser, LIST)
    assert preview.status_code == 200
    assert "Invite 2 people" in text_of(preview)
    assert not Invitation.objects.exists()
    made = send_list(maras_browser, LIST, confirmed="1")
    assert len(links_in(made)) == 2
    assert Invitation.objects.count() == 2


def test_the_links_survive_a_reload_for_a_while(
    client: Client, maras_browser: Client, project: Project, joins: Joins
) -> None:
    made = send_list(maras_browser, LIST, confirmed="1")
    assert made.redirect_chain == [
        (page("invitations"), 302)
    ]  # a reload sends no form, and no key is in the address
    assert "no-store" in made.headers["Cache-Control"]
    links = links_in(made)
    assert len(links) == 2
    assert links_in(maras_browser.get(page("invitations"))) == links
    assert Invitation.objects.count() == 2
    other = Client()
    other.force_login(joins("max", project, Role.MANAGER))
    assert links_in(other.get(page("invitations"))) == []
    session = maras_browser.session
    assert set(session[SHOWN_KEY]) == {"project", "ids", "until"}
    assert not [link for link in links if link.rsplit("=", 1)[-1] in str(session[SHOWN_KEY])], (
        "a key is a secret"
    )
    session[SHOWN_KEY] = {**session[SHOWN_KEY], "until": 0}
    session.save()
    assert links_in(maras_browser.get(page("invitations"))) == []
    assert SHOWN_KEY not in maras_browser.session


def test_links_are_shown_in_their_own_project_only(
    maras_browser: Client, project: Project, mara: User
) -> None:
    send_list(maras_browser, LIST, confirmed="1")
    create_project(slug="other", preset="blank-labelling", actor=mara, title="Other")
    other = maras_browser.get(reverse("invitations", args=["other"]))
    assert (other.status_code, links_in(other)) == (200, [])


def test_a_bad_line_stops_the_list_even_when_confirmed(
    maras_browser: Client, project: Project, ann: User
) -> None:
    answer = send_list(maras_browser, f"{LIST}Ann,ann@example.org,annotator\nBo,,boss", confirmed="1")
    assert answer.status_code == 422
    html = text_of(answer)
    assert "2 lines have errors" in html
    assert "ann@example.org is already a member." in html
    assert "There is no role “boss”." in html
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("people", ["", "\n\n", "name,email\n", "\0", "x" * 100_001, "a,,annotator\n" * 501])
def test_an_unusable_list_invites_nobody(maras_browser: Client, project: Project, people: str) -> None:
    assert send_list(maras_browser, people, confirmed="1").status_code == 422
    assert not Invitation.objects.exists()


def test_a_link_is_shown_again_renewed_and_revoked(maras_browser: Client, project: Project) -> None:
    (link,) = links_in(invite_one(maras_browser))
    row = Invitation.objects.get()
    assert links_in(maras_browser.post(page("invitation_link", row.pk), follow=True)) == [link]
    (renewed,) = links_in(maras_browser.post(page("invitation_link", row.pk), {"version": "1"}, follow=True))
    assert renewed != link
    maras_browser.post(page("invitation_revoke", row.pk))
    assert links_in(maras_browser.get(page("invitations"))) == []
    assert Client().get(renewed).status_code == 410
    row.refresh_from_db()
    assert row.state == InvitationState.REVOKED


def test_by_mail_is_offered_only_with_e_mail(maras_browser: Client, project: Project, settings: Any) -> None:
    assert 'name="by_mail"' not in text_of(maras_browser.get(page("invitations")))
    settings.EMAIL_URL = "console:"
    assert 'name="by_mail"' in text_of(maras_browser.get(page("invitations")))


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER, Role.TRAINER, Role.ENGINEER])
def test_other_roles_do_not_invite(client: Client, project: Project, joins: Joins, role: Role) -> None:
    client.force_login(joins("nora", project, role))
    assert client.get(page("invitations")).status_code == 403
    assert invite_one(client).status_code == send_list(client, LIST, confirmed="1").status_code == 403
    assert not Invitation.objects.exists()


def test_strangers_and_guests_do_not_invite(client: Client, project: Project, joins: Joins) -> None:
    assert invite_one(client).redirect_chain[0][0].startswith(reverse("account_login"))
    client.force_login(joins("stranger"))
    assert client.get(page("invitations")).status_code == 404
    assert invite_one(client).status_code == 404


def test_many_wrong_keys_have_to_wait(client: Client, project: Project) -> None:
    # 60 a minute are answered; on a slow machine a second minute may begin meanwhile.
    codes = [client.get(reverse("invitation"), {"key": "x"}).status_code for _ in range(121)]
    assert codes[:60] == [410] * 60
    assert 429 in codes


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_pages_open_in_both_languages(
    maras_browser: Client, mara: User, project: Project, language: str
) -> None:
    User.objects.update(language=language)
    for answer in [
        invite_one(maras_browser),
        maras_browser.get(page("invitations")),
        send_list(maras_browser, LIST),
    ]:
        assert answer.status_code == 200
        assert ("邀请" in text_of(answer)) == (language == "zh-hans")


def test_the_page_costs_the_same_with_many(
    maras_browser: Client, project: Project, django_assert_max_num_queries: Any
) -> None:
    people = "".join(f"n{n},,annotator\n" for n in range(100))
    send_list(maras_browser, people, confirmed="1")
    with django_assert_max_num_queries(12):
        maras_browser.get(page("invitations"))
