"""Signing in: the rate limit bites, one-time passwords open one page, single sign-on is offered where it is set up."""

import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import ApiToken, Scope, User
from accounts.selectors import live_tokens
from accounts.services import create_token, create_user, revoke_token
from frontend.pages.account.password_forms import PasswordResetForm

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def ann() -> User:
    return create_user(username="ann", email="ann@example.org", password=PASSWORD)[0]


def sign_in(client: Client, login: str, password: str, **more: Any) -> Any:
    return client.post(reverse("account_login"), {"login": login, "password": password}, **more)


@pytest.mark.parametrize("login", ["ann", "ann@example.org", "ANN@example.org"])
def test_the_name_and_the_address_both_sign_in(client: Client, ann: User, login: str) -> None:
    response = sign_in(client, login, PASSWORD)
    assert response.headers["Location"] == reverse("home")


def test_the_name_has_the_focus_and_after_a_refusal_the_password(client: Client, ann: User) -> None:
    def focused(page: str) -> list[str]:
        return [tag for tag in re.findall("<input[^>]*>", page) if " autofocus" in tag]

    (name,) = focused(client.get(reverse("account_login")).content.decode())
    assert 'name="login"' in name
    (password,) = focused(sign_in(client, "ann", "wrong").content.decode())
    assert 'name="password"' in password


def test_signing_in_shows_nothing_in_the_language_of_the_sign_in_page(client: Client, ann: User) -> None:
    User.objects.update(language="zh-hans")
    page = sign_in(client, "ann", PASSWORD, follow=True, headers={"Accept-Language": "en"}).content.decode()
    assert '<html lang="zh-Hans"' in page
    assert 'class="messages"' not in page


def test_after_five_wrong_passwords_even_the_right_one_has_to_wait(client: Client, ann: User) -> None:
    for _attempt in range(5):
        assert "account" not in sign_in(client, "ann", "wrong").headers.get("Location", "")
    html = sign_in(client, "ann", PASSWORD).content.decode()
    assert "Too many failed login attempts" in html
    assert "_auth_user_id" not in client.session


def test_other_people_are_not_locked_out_with_ann(client: Client, ann: User) -> None:
    create_user(username="bob", password=PASSWORD)
    for _attempt in range(5):
        sign_in(client, "ann", "wrong")
    assert sign_in(client, "bob", PASSWORD).status_code == 302


def test_one_address_cannot_try_many_names(client: Client, ann: User) -> None:
    for attempt in range(10):
        sign_in(client, f"nobody-{attempt}", "wrong")
    assert "Too many failed login attempts" in sign_in(client, "ann", PASSWORD).content.decode()


@pytest.fixture
def invited() -> tuple[User, str]:
    return create_user(username="nora", display_name="Nora")


def test_a_one_time_password_opens_the_page_that_changes_it(
    client: Client, invited: tuple[User, str]
) -> None:
    _nora, password = invited
    sign_in(client, "nora", password)
    for page in ["home", "profile", "api_tokens"]:
        response = client.get(reverse(page))
        assert response.headers["Location"].split("?")[0] == reverse("account_change_password")
    html = client.get(reverse("home"), follow=True).content.decode()
    assert "Choose your own password first" in html


def test_after_choosing_a_password_everything_is_open(client: Client, invited: tuple[User, str]) -> None:
    nora, password = invited
    sign_in(client, "nora", password)
    sent = {"oldpassword": password, "password1": PASSWORD, "password2": PASSWORD}
    client.post(reverse("account_change_password"), sent)
    nora.refresh_from_db()
    assert nora.temporary_password_until is None
    assert client.get(reverse("profile")).status_code == 200
    assert sign_in(Client(), "nora", password).status_code == 200  # the one-time one ends


def test_choosing_a_password_leads_to_the_page_that_was_asked_for(
    client: Client, invited: tuple[User, str]
) -> None:
    _nora, password = invited
    sign_in(client, "nora", password)
    form = client.get(reverse("api_tokens"), follow=True)
    sent = {
        "oldpassword": password,
        "password1": PASSWORD,
        "password2": PASSWORD,
        "next": reverse("api_tokens"),
    }
    assert f'name="next" value="{reverse("api_tokens")}"' in form.content.decode()
    assert client.post(reverse("account_change_password"), sent).headers["Location"] == reverse("api_tokens")


def test_the_page_that_changes_a_one_time_password_has_its_scripts_words(
    client: Client, invited: tuple[User, str]
) -> None:
    sign_in(client, "nora", invited[1])
    html = client.get(reverse("account_change_password")).content.decode()
    catalogue = html.split('<script defer src="')[1].split('"')[0]
    assert client.get(catalogue).headers["Content-Type"].startswith("text/javascript")


def test_a_one_time_password_expires(client: Client, invited: tuple[User, str]) -> None:
    nora, password = invited
    User.objects.filter(pk=nora.pk).update(temporary_password_until=timezone.now() - timedelta(seconds=1))
    html = sign_in(client, "nora", password, follow=True).content.decode()
    assert "This one-time password has expired" in html
    assert "_auth_user_id" not in client.session


def test_signing_out_and_the_language_stay_open(client: Client, invited: tuple[User, str]) -> None:
    sign_in(client, "nora", invited[1])
    assert client.get(reverse("account_logout")).status_code == 200
    assert client.post(reverse("set_language"), {"language": "zh-hans"}).status_code == 302


def test_single_sign_on_is_not_offered_by_itself(client: Client) -> None:
    assert "/oidc/" not in client.get(reverse("account_login")).content.decode()


def test_single_sign_on_is_offered_if_it_is_set_up() -> None:
    """A process of its own: settings are read from the environment once."""
    asks = (
        "import django; django.setup()\n"
        "from django.test import Client\n"
        "import json\n"
        "response = Client(headers={'host': 'localhost'}).get('/accounts/login/')\n"
        "print(json.dumps([response.status_code, response.content.decode()]))\n"
    )
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": urlsplit(settings.DATABASE_URL)
        ._replace(path=f"/{connection.settings_dict['NAME']}")
        .geturl(),
        "OIDC_CLIENT_ID": "lapidary",
        "OIDC_CLIENT_SECRET": "secret",
        "OIDC_SERVER_URL": "https://sso.example.org",
        "OIDC_NAME": "Example University",
        "OIDC_PROVIDER_ID": "university",
    }
    ran = subprocess.run(
        [sys.executable, "-c", asks], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    status, html = json.loads(ran.stdout.strip().splitlines()[-1])
    assert status == 200
    assert "Example University" in html
    assert "/accounts/oidc/university/login/" in html


def tokens_of(user: User) -> tuple[ApiToken, ApiToken]:
    first, second = (create_token(user=user, name=name, scopes=[Scope.READ])[0] for name in ("one", "two"))
    return first, second


def test_changing_the_password_asks_about_the_api_tokens(client: Client, ann: User) -> None:
    first, second = tokens_of(ann)
    gone = create_token(user=ann, name="revoked before", scopes=[Scope.READ])[0]
    revoke_token(user=ann, token_id=gone.pk)
    theirs = create_token(
        user=create_user(username="bob", password=PASSWORD)[0], name="bob's", scopes=["read"]
    )[0]
    client.force_login(ann)
    html = client.get(reverse("account_change_password")).content.decode()
    assert f"one ({first.prefix}…" in html
    assert "revoked before" not in html
    assert f'value="{first.pk}" checked' not in html
    sent = {"oldpassword": PASSWORD, "password1": PASSWORD + "2", "password2": PASSWORD + "2"}
    refused = client.post(reverse("account_change_password"), sent | {"revoked_tokens": [theirs.pk]})
    assert refused.status_code == 200
    client.post(reverse("account_change_password"), sent | {"revoked_tokens": [first.pk]})
    assert [live_tokens(ann).get(), live_tokens(theirs.user).get()] == [second, theirs]


def test_a_reset_proposes_to_revoke_every_token(client: Client, ann: User) -> None:
    first, second = tokens_of(ann)
    form = PasswordResetForm(user=ann, temp_key="unused")
    assert form.fields["revoked_tokens"].initial == [str(second.pk), str(first.pk)]
    key = default_token_generator.make_token(ann)
    address = reverse("account_reset_password_from_key", args=[user_pk_to_url_str(ann), key])
    page = client.get(address, follow=True)
    html = page.content.decode()
    assert html.count(" checked") == 2
    chosen = {
        "revoked_tokens": [first.pk, second.pk],
        "password1": PASSWORD + "2",
        "password2": PASSWORD + "2",
    }
    client.post(page.redirect_chain[-1][0], chosen)
    ann.refresh_from_db()
    assert ann.check_password(PASSWORD + "2")
    assert not live_tokens(ann).exists()


def test_nobody_without_tokens_is_asked(client: Client, ann: User) -> None:
    client.force_login(ann)
    assert "API tokens to revoke" not in client.get(reverse("account_change_password")).content.decode()
