"""What scripts say: one file per language, kept by browsers until its content changes."""

import pytest
from django.conf import settings
from django.test import Client
from django.utils.translation import gettext, override

from accounts.models import User
from frontend.pages.message_catalog import catalog_json_url, catalog_url

pytestmark = pytest.mark.django_db


def test_the_chinese_catalog_holds_the_messages_of_the_scripts(client: Client) -> None:
    answer = client.get(catalog_url("zh-hans"))
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert "immutable" in answer.headers["Cache-Control"]
    assert '"not answered": ' in answer.content.decode()


def test_json_is_the_same_catalog_for_the_preview_in_another_language(client: Client) -> None:
    catalog = client.get(catalog_json_url("zh-hans")).json()["catalog"]
    with override("zh-hans"):
        assert catalog["Skip"] == gettext("Skip")  # also said by templates
    assert catalog["{n} question to answer"] == [catalog["{n} question to answer"][0]]  # one form


def test_an_older_address_still_answers_but_is_not_kept(client: Client) -> None:
    answer = client.get("/jsi18n/zh-hans/000000000000.js")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"


def test_a_known_catalog_is_not_sent_again(client: Client) -> None:
    tag = client.get(catalog_url("en")).headers["ETag"]
    assert client.get(catalog_url("en"), headers={"If-None-Match": tag}).status_code == 304


def test_an_unknown_language_has_no_catalog(client: Client) -> None:
    assert client.get("/jsi18n/tlh/000000000000.js").status_code == 404


@pytest.mark.parametrize("language", [code for code, _name in settings.LANGUAGES])
def test_pages_load_the_catalog_of_their_language_before_any_module(
    language: str, client: Client, ann: User
) -> None:
    User.objects.filter(pk=ann.pk).update(language=language)
    client.force_login(User.objects.get(pk=ann.pk))
    page = client.get("/").content.decode()
    assert page.index(f'<script defer src="{catalog_url(language)}">') < page.index('<script type="module"')
