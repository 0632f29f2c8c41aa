"""What people set for themselves, in the browser's words: forms sent, pages read."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import ApiToken, Scope, User
from accounts.services import create_token, use_token

PASSWORD = "correct horse battery"

pytestmark = pytest.mark.django_db

GUEST_PAGES = ["account_login", "account_reset_password", "account_reset_password_done", "account_signup"]
OWN_PAGES = [
    *["profile", "api_tokens", "account_change_password", "account_email", "account_logout"],
    *["mfa_index", "usersessions_list", "socialaccount_connections"],
]


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", "ann@example.org", PASSWORD)


@pytest.fixture
def anns_browser(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


def profile(**changes: str) -> dict[str, str]:
    return {"display_name": "", "language": "", "theme": "auto", **changes}


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("page", OWN_PAGES)
def test_every_own_page_opens_in_both_languages(
    anns_browser: Client, ann: User, page: str, language: str
) -> None:
    User.objects.update(language=language)
    response = anns_browser.get(reverse(page))
    assert response.status_code == 200
    assert f'<html lang="{"zh-Hans" if language == "zh-hans" else "en"}"' in response.content.decode()


def test_ann_chooses_the_languages_that_she_reads(anns_browser: Client, ann: User) -> None:
    anns_browser.post(reverse("profile"), profile() | {"reading_languages": ["zh", "ja"]})
    ann.refresh_from_db()
    assert ann.reading_languages == ["zh", "ja"]
    page = anns_browser.get(reverse("profile")).content.decode()
    for code, is_chosen in (("zh", True), ("ja", True), ("en", False), ("de", False)):
        assert bool(re.search(rf'value="{code}" id="[^"]+" checked', page)) is is_chosen
    anns_browser.post(reverse("profile"), profile() | {"reading_languages": ["xx"]})
    ann.refresh_from_db()
    assert ann.reading_languages == ["zh", "ja"]


@pytest.mark.parametrize("page", GUEST_PAGES)
def test_every_guests_page_opens(client: Client, page: str) -> None:
    assert client.get(reverse(page)).status_code == 200


@pytest.mark.parametrize("page", [*GUEST_PAGES, *OWN_PAGES])
def test_no_page_needs_inline_script_or_style(anns_browser: Client, page: str) -> None:
    if page in GUEST_PAGES:
        anns_browser.logout()
    html = anns_browser.get(reverse(page)).content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)(?![^>]*application/json)", html)


@pytest.mark.parametrize(
    ("browser", "goodbye"), [("en", "You have signed out."), ("zh-hans", "已退出登录。")]
)
def test_the_goodbye_is_in_the_language_of_its_page(
    client: Client, ann: User, browser: str, goodbye: str
) -> None:
    User.objects.filter(pk=ann.pk).update(language="zh-hans")
    client.force_login(ann)
    headers = {"Accept-Language": browser}
    html = client.post(reverse("account_logout"), headers=headers, follow=True).content.decode()
    assert goodbye in html


def test_signing_in_leads_home(client: Client, ann: User) -> None:
    response = client.post(reverse("account_login"), {"login": "ann", "password": PASSWORD})
    assert response.status_code == 302
    assert response.headers["Location"] == reverse("home")


def test_a_wrong_password_is_reported_beside_the_form(client: Client, ann: User) -> None:
    html = client.post(reverse("account_login"), {"login": "ann", "password": "wrong"}).content.decode()
    assert 'role="alert"' in html
    assert 'value="ann"' in html


def test_signing_up_is_closed_and_says_whom_to_ask(client: Client) -> None:
    assert "Ask the manager of your project" in client.get(reverse("account_signup")).content.decode()


def test_ann_stores_her_preferences(anns_browser: Client, ann: User) -> None:
    sent = profile(display_name="Ann", language="zh-hans", theme="dark", submit_on_enter="on")
    html = anns_browser.post(reverse("profile"), sent, follow=True).content.decode()
    ann.refresh_from_db()
    assert (ann.display_name, ann.language, ann.theme, ann.submit_on_enter) == (
        "Ann",
        "zh-hans",
        "dark",
        True,
    )
    assert 'data-theme="dark"' in html
    assert 'lang="zh-Hans"' in html


def test_an_invalid_preference_is_refused_beside_its_field(anns_browser: Client, ann: User) -> None:
    html = anns_browser.post(reverse("profile"), profile(theme="pink")).content.decode()
    ann.refresh_from_db()
    assert ann.theme == "auto"
    assert "errorlist" in html


def test_the_language_switch_keeps_the_choice(anns_browser: Client, ann: User) -> None:
    response = anns_browser.post(reverse("set_language"), {"language": "zh-hans", "next": "/account/tokens/"})
    ann.refresh_from_db()
    assert ann.language == "zh-hans"
    assert response.headers["Location"] == "/account/tokens/"


def test_a_guests_language_is_a_cookie(client: Client) -> None:
    client.post(reverse("set_language"), {"language": "zh-hans", "next": "/"})
    assert 'lang="zh-Hans"' in client.get(reverse("account_login")).content.decode()


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""])
def test_switches_never_lead_to_another_site(client: Client, target: str) -> None:
    for switch, choice in [("set_language", {"language": "en"}), ("set_theme", {"theme": "dark"})]:
        assert client.post(reverse(switch), {**choice, "next": target}).headers["Location"] == "/"


def test_an_unknown_language_or_theme_is_refused(client: Client) -> None:
    assert client.post(reverse("set_language"), {"language": "tlh"}).status_code == 400
    assert client.post(reverse("set_theme"), {"theme": "pink"}).status_code == 400


def test_the_theme_is_in_the_first_answer_so_that_nothing_flashes(client: Client) -> None:
    client.post(reverse("set_theme"), {"theme": "dark", "next": "/"})
    assert 'data-theme="dark"' in client.get(reverse("account_login")).content.decode()


def test_the_script_stores_the_theme_without_a_new_page(anns_browser: Client, ann: User) -> None:
    response = anns_browser.post(reverse("set_theme"), {"theme": "light"}, headers={"HX-Request": "true"})
    ann.refresh_from_db()
    assert (response.status_code, ann.theme) == (204, "light")


def test_a_new_token_works_and_is_shown_once(anns_browser: Client, ann: User) -> None:
    sent = {"name": "nightly export", "scopes": ["read"], "days": "30"}
    html = anns_browser.post(reverse("api_tokens"), sent).content.decode()
    plain = re.search(r"lap_[\w-]{30,}", html)
    assert plain is not None
    token = use_token(plain=plain[0])
    assert token is not None
    assert (token.user, token.scopes) == (ann, [Scope.READ])
    assert plain[0] not in anns_browser.get(reverse("api_tokens")).content.decode()


def test_a_token_needs_a_scope(anns_browser: Client) -> None:
    html = anns_browser.post(reverse("api_tokens"), {"name": "x", "days": "30"}).content.decode()
    assert "errorlist" in html
    assert not ApiToken.objects.exists()


def test_a_token_that_never_expires_can_be_had(anns_browser: Client) -> None:
    anns_browser.post(reverse("api_tokens"), {"name": "x", "scopes": ["read"], "days": "never"})
    assert ApiToken.objects.get().expires_at is None


def test_ann_revokes_her_token(anns_browser: Client, ann: User) -> None:
    token, plain = create_token(user=ann, name="old", scopes=[Scope.READ])
    anns_browser.post(reverse("revoke_api_token", args=[token.pk]))
    assert use_token(plain=plain) is None


def test_ann_neither_sees_nor_revokes_bobs_tokens(anns_browser: Client) -> None:
    bob = User.objects.create(username="bob")
    token, plain = create_token(user=bob, name="bobs own", scopes=[Scope.READ])
    assert "bobs own" not in anns_browser.get(reverse("api_tokens")).content.decode()
    anns_browser.post(reverse("revoke_api_token", args=[token.pk]))
    assert use_token(plain=plain) is not None


def test_guests_are_sent_to_sign_in(client: Client) -> None:
    for page in ("profile", "api_tokens"):
        assert client.get(reverse(page)).headers["Location"].startswith(reverse("account_login"))


def test_a_name_of_markup_is_shown_as_text(anns_browser: Client) -> None:
    User.objects.update(display_name="<script>alert(1)</script>")
    html = anns_browser.get(reverse("profile")).content.decode()
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html
