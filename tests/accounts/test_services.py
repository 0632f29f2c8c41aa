"""Making accounts and tokens, and finding people."""

import io
import sys
from contextlib import nullcontext
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import services
from accounts.models import ApiToken, User
from accounts.services import (
    MAX_LIVE_TOKENS,
    create_token,
    create_user,
    find_person,
    one_time_password,
    renew_one_time_password,
    revoke_token,
    set_preferences,
    use_token,
)
from common.refusals import Invalid, NotAllowed, NotFound, Refusal

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.mark.parametrize("password", ["123", "correct horse battery"])
def test_a_password_is_checked_once(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    checked = []

    def check(password: str, user: User) -> None:
        checked.append(password)
        validate_password(password, user)

    monkeypatch.setattr(services, "validate_password", check)
    refusal = pytest.raises(Invalid) if password == "123" else nullcontext()
    with refusal:
        create_user(username="nora", password=password)
    assert checked == [password]


@pytest.fixture
def ann() -> User:
    return create_user(username="ann", email="ann@example.org", password=PASSWORD)[0]


def test_an_account_without_a_password_gets_a_one_time_one() -> None:
    nora, plain = create_user(
        username=" nora ", email="nora@example.org", display_name="Nora", language="zh-hans"
    )
    assert (nora.username, nora.display_name, nora.language) == ("nora", "Nora", "zh-hans")
    assert nora.check_password(plain)
    assert nora.temporary_password_until is not None
    assert nora.temporary_password_until > timezone.now() + timedelta(days=13)


def test_one_time_passwords_are_readable_and_differ() -> None:
    passwords = {one_time_password() for _n in range(100)}
    assert len(passwords) == 100
    for plain in passwords:
        assert len(plain) == 19
        assert not set(plain) & set("01iloIO")


def test_an_account_with_a_password_is_the_persons_own(ann: User) -> None:
    assert ann.temporary_password_until is None
    assert not ann.is_superuser


@pytest.mark.parametrize("password", ["short", "password", "12345678"])
def test_a_weak_password_is_refused(password: str) -> None:
    with pytest.raises(Invalid) as refused:
        create_user(username="nora", password=password)
    assert refused.value.details == {"field": "password"}
    assert not User.objects.filter(username="nora").exists()


@pytest.mark.parametrize("username", ["", "no ra", "a/b", "x" * 151, "<script>"])
def test_an_invalid_name_is_refused(username: str) -> None:
    with pytest.raises(Invalid) as refused:
        create_user(username=username)
    assert refused.value.details == {"field": "username"}


@pytest.mark.parametrize("username", ["ann", "Ann", "ANN"])
def test_a_name_is_taken_whatever_its_case(ann: User, username: str) -> None:
    with pytest.raises(Refusal) as refused:
        create_user(username=username)
    assert refused.value.code == "username_taken"


def test_an_address_is_taken_whatever_its_case(ann: User) -> None:
    with pytest.raises(Refusal) as refused:
        create_user(username="nora", email="ANN@example.org")
    assert refused.value.code == "email_taken"


def test_an_invalid_address_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        create_user(username="nora", email="nora at example")
    assert refused.value.details == {"field": "email"}


def test_a_new_one_time_password_ends_the_first() -> None:
    nora, first = create_user(username="nora")
    second = renew_one_time_password(user=nora)
    nora.refresh_from_db()
    assert not nora.check_password(first)
    assert nora.check_password(second)


def test_nobody_elses_own_password_can_be_replaced(ann: User) -> None:
    with pytest.raises(Refusal) as refused:
        renew_one_time_password(user=ann)
    assert refused.value.code == "password_is_own"
    ann.refresh_from_db()
    assert ann.check_password(PASSWORD)


@pytest.mark.parametrize("who", ["ann", " ann ", "ANN", "ann@example.org", "Ann@Example.Org"])
def test_people_are_found_by_name_or_address(ann: User, who: str) -> None:
    assert find_person(who) == ann


@pytest.mark.parametrize("who", ["", "anna", "@", "ann@example.com"])
def test_somebody_unknown_is_not_found(ann: User, who: str) -> None:
    with pytest.raises(NotFound):
        find_person(who)


def test_two_people_with_one_address_have_to_be_named_exactly(ann: User) -> None:
    User.objects.create(username="ann2", email="ann@example.org")
    with pytest.raises(Refusal) as refused:
        find_person("ann@example.org")
    assert refused.value.code == "ambiguous_person"
    assert find_person("ann") == ann


@pytest.mark.parametrize("change", [{"is_active": False}, {"imported": True}])
def test_a_user_who_cannot_sign_in_is_not_found(ann: User, change: dict[str, bool]) -> None:
    User.objects.filter(pk=ann.pk).update(**change)
    with pytest.raises(NotFound):
        find_person("ann")


def test_the_same_request_makes_one_token_and_its_last_value_works(ann: User) -> None:
    about: dict[str, Any] = {"user": ann, "name": "export", "scopes": ["read"], "request_id": uuid4()}
    first, lost = create_token(**about)
    second, plain = create_token(**about)
    assert first == second
    assert ApiToken.objects.count() == 1
    assert use_token(plain=lost) is None
    assert use_token(plain=plain) == first


def test_a_token_that_is_used_keeps_its_value(ann: User) -> None:
    about: dict[str, Any] = {"user": ann, "name": "export", "scopes": ["read"], "request_id": uuid4()}
    _token, plain = create_token(**about)
    use_token(plain=plain)
    with pytest.raises(Refusal) as refused:
        create_token(**about)
    assert refused.value.code == "token_in_use"
    assert use_token(plain=plain) is not None


@pytest.mark.parametrize(
    "changes", [{"name": "other"}, {"scopes": ["read", "manage"]}, {"days": None}, {"days": 7}]
)
def test_the_id_of_another_token_request_is_refused(ann: User, changes: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"user": ann, "name": "export", "scopes": ["read"], "request_id": uuid4()}
    _token, plain = create_token(**fields)
    with pytest.raises(Refusal) as refused:
        create_token(**fields | changes)
    assert refused.value.code == "id_in_use"
    assert use_token(plain=plain) is not None


def test_a_token_cannot_replace_the_value_of_a_stronger_one(ann: User) -> None:
    weak, _plain = create_token(user=ann, name="weak", scopes=["manage"])
    fields: dict[str, Any] = {
        "user": ann,
        "name": "x",
        "scopes": ["annotate", "manage"],
        "request_id": uuid4(),
    }
    create_token(**fields)
    with pytest.raises(NotAllowed):
        create_token(**fields, by=weak)


def test_two_people_may_use_the_same_request_id(ann: User) -> None:
    bob, _password = create_user(username="bob")
    request_id = uuid4()
    for user in (ann, bob):
        create_token(user=user, name="x", scopes=["read"], request_id=request_id)
    assert ApiToken.objects.count() == 2


@pytest.mark.parametrize(
    "wrong",
    [{"scopes": []}, {"scopes": ["read", "everything"]}, {"days": 0}, {"days": 10**9}, {"name": " "}],
)
def test_a_senseless_token_is_not_made(ann: User, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        create_token(**{"user": ann, "name": "x", "scopes": ["read"], **wrong})
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("more", [{"scopes": ["manage"]}, {"days": None}, {"days": 40}])
def test_a_token_cannot_create_a_more_powerful_or_longer_one(ann: User, more: dict[str, Any]) -> None:
    by, _plain = create_token(user=ann, name="by", scopes=["read", "annotate"], days=30)
    request: dict[str, Any] = {"user": ann, "name": "x", "scopes": ["read"], "days": 20}
    create_token(**request, by=by)
    with pytest.raises(NotAllowed):
        create_token(**{**request, **more}, by=by)


def test_tokens_have_a_limit_and_revoking_makes_room(ann: User) -> None:
    for number in range(MAX_LIVE_TOKENS):
        token, _plain = create_token(user=ann, name=f"{number}", scopes=["read"])
    with pytest.raises(Refusal) as refused:
        create_token(user=ann, name="one more", scopes=["read"])
    assert refused.value.code == "too_many_tokens"
    revoke_token(user=ann, token_id=token.pk)
    create_token(user=ann, name="one more", scopes=["read"])


def test_a_token_ends_with_its_time_and_with_its_owner(ann: User) -> None:
    token, plain = create_token(user=ann, name="x", scopes=["read"], days=1)
    assert use_token(plain=plain) == token
    User.objects.filter(pk=ann.pk).update(is_active=False)
    assert use_token(plain=plain) is None
    User.objects.filter(pk=ann.pk).update(is_active=True)
    ApiToken.objects.update(expires_at=timezone.now())
    assert use_token(plain=plain) is None


def test_bob_cannot_revoke_anns_token(ann: User) -> None:
    bob, _password = create_user(username="bob")
    token, plain = create_token(user=ann, name="x", scopes=["read"])
    revoke_token(user=bob, token_id=token.pk)
    assert use_token(plain=plain) == token


def test_preferences_cannot_make_a_superuser(ann: User) -> None:
    with pytest.raises(TypeError):
        set_preferences(user=ann, is_superuser=True)


def test_a_senseless_preference_is_refused(ann: User) -> None:
    with pytest.raises(Invalid) as refused:
        set_preferences(user=ann, theme="pink")
    assert refused.value.details == {"field": "theme"}


def test_the_command_prints_a_one_time_password(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_user", "nora", "--email", "nora@example.org", "--display-name", "Nora")
    plain = capsys.readouterr().out.rsplit(" ", 1)[1].strip()
    nora = User.objects.get(username="nora")
    assert nora.check_password(plain)
    assert not nora.is_superuser


def test_the_command_reads_a_password_and_makes_superusers(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(sys, "stdin", io.StringIO(PASSWORD + "\n"))
    call_command("create_user", "root", "--superuser", "--password-stdin")
    root = User.objects.get(username="root")
    assert root.check_password(PASSWORD)
    assert root.is_superuser
    assert root.is_staff
    assert root.temporary_password_until is None


def test_the_command_makes_an_account_that_exists_a_superuser(
    ann: User, capsys: pytest.CaptureFixture[str]
) -> None:
    for _time in range(2):
        call_command("create_user", "ann", "--superuser", "--email", "new@example.org")
        assert "Account ann exists and is a superuser now." in capsys.readouterr().out
    ann.refresh_from_db()
    assert (ann.is_superuser, ann.is_staff, ann.email) == (True, True, "ann@example.org")
    assert ann.check_password(PASSWORD)


def test_the_command_promotes_nobody_who_cannot_sign_in(ann: User) -> None:
    User.objects.filter(pk=ann.pk).update(is_active=False)
    with pytest.raises(CommandError, match="cannot sign in"):
        call_command("create_user", "ann", "--superuser")


def test_the_command_says_why_it_refuses(ann: User) -> None:
    with pytest.raises(CommandError, match="There is already somebody"):
        call_command("create_user", "ann")


def test_the_form_of_a_token_sent_twice_makes_one(client: Client, ann: User) -> None:
    client.force_login(ann)
    form = {"name": "export", "scopes": ["read"], "days": "30", "request_id": str(uuid4())}
    pages = [client.post(reverse("api_tokens"), form).content.decode() for _time in range(2)]
    assert ApiToken.objects.count() == 1
    assert all("lap_" in page for page in pages)


def test_a_token_lives_for_ninety_days_unless_asked_otherwise(client: Client, ann: User) -> None:
    client.force_login(ann)
    lives = []
    for more in ({}, {"days": None}):
        sent = {"id": str(uuid4()), "name": "x", "scopes": ["read"], **more}
        answer = client.post("/api/v1/tokens/", sent, content_type="application/json")
        assert answer.status_code == 201, answer.content
        lives.append(ApiToken.objects.get(pk=answer.json()["id"]).expires_at)
    first, second = lives
    assert first is not None
    assert abs(first - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)
    assert second is None
