"""Every operation of the API and of the pages, tried by everybody: who is refused, and how."""

import logging
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client, override_settings
from pytest_django import DjangoDbBlocker

from frontend.pages.errors import allowed_methods
from tests.access.bodies import body_of
from tests.access.needs import MEMBERS, WORLDS, Lines, Need
from tests.access.people import (
    ANNOTATOR,
    ANONYMOUS,
    COLLEAGUE,
    CONTROLLER,
    LEAVER,
    MANAGER,
    READER,
    ROLES,
    STRANGERS,
)
from tests.access.routes import Operation, operations
from tests.access.world import World, create_world
from tests.module_rows import shared_rows

OPERATIONS = operations()
OTHERS = {name for identity in ROLES for name in (f"x-{identity}", f"Quinn {identity.title()}")}
REFUSED = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


@pytest.fixture(scope="module")
def _world(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    files: Path = tmp_path_factory.mktemp("access")
    with (
        override_settings(FILES_ROOT=files, MODELS_ROOT=files / "models"),
        shared_rows(django_db_blocker),
    ):
        yield create_world()


@pytest.fixture
def world(_world: World, db: None) -> Iterator[World]:
    cache.clear()
    logging.disable(logging.ERROR)  # a line for each request
    yield _world
    logging.disable(logging.NOTSET)


def test_every_parameter_of_every_address_has_a_value(world: World) -> None:
    unknown = []
    for name, operation, _need in matrix():
        try:
            operation.address(world.values_for(name, ANNOTATOR))
        except KeyError as error:
            unknown.append(f"{name}: {operation.route} needs a value for {error}")
    assert not unknown, "\n".join(unknown)


def test_every_operation_has_a_need_and_every_line_an_operation() -> None:
    tables = {name: Lines(table) for name, table in WORLDS.items()}
    known = {operation for operation in OPERATIONS for lines in tables.values() if lines.need_of(operation)}
    missing = [str(operation) for operation in OPERATIONS if operation not in known]
    assert not missing, f"add to tests/access/needs.py: {missing}"
    unused = [line for lines in tables.values() for line in set(lines.table) - lines.used]
    assert not unused


@pytest.mark.parametrize("identity", ROLES)
def test_every_operation_is_for_those_who_need_it(world: World, identity: str) -> None:
    client = browser(world, identity)
    wrong = []
    for name, operation, need in matrix():
        if is_tried(identity, operation, need):
            response, content = answer(client, operation, world.values_for(name, identity))
            if problem := find_problem(identity, operation, need, response):
                wrong.append(f"{name}: {operation}: {problem}")
            elif response.status_code not in REFUSED:  # those repeat the address
                shown = secrets_in(content, identity, need)
                wrong += [f"{name}: {operation}: shows {word}" for word in shown]
    assert not wrong, "\n".join(["", *wrong])


def test_pages_that_cannot_be_opened_are_known(world: World) -> None:
    """A refused form leads back to its page only if that can be opened with GET."""
    client = browser(world, MANAGER)
    wrong, refusing = [], 0
    for name, operation, _need in matrix():
        if operation.is_api or not operation.is_safe:
            continue
        values = world.values_for(name, MANAGER)
        response, _content = answer(client, operation, values)
        is_refused = response.status_code == HTTPStatus.METHOD_NOT_ALLOWED
        refusing += is_refused
        if is_refused and "GET" in allowed_methods(operation.address(values)):
            wrong.append(f"{name}: {operation}")
    assert not wrong
    assert refusing > 50


def matrix() -> Iterator[tuple[str, Operation, Need]]:
    for name, table in WORLDS.items():
        lines = Lines(table)
        for operation in OPERATIONS:
            need = lines.need_of(operation)
            if need is not None:
                yield name, operation, need


def is_tried(identity: str, operation: Operation, need: Need) -> bool:
    """The rest says the same again: a token is for the API, the colleague stands for other people's things."""
    if need.public:
        return identity in (ANONYMOUS, ANNOTATOR)
    if identity == COLLEAGUE:
        return bool(need.people)
    return identity != READER or operation.is_api


def browser(world: World, identity: str) -> Client:
    headers = {"Accept-Encoding": "identity"}
    if identity == READER:
        return Client(
            raise_request_exception=False, headers={"Authorization": f"Bearer {world.token}", **headers}
        )
    client = Client(raise_request_exception=False, headers=headers)
    if identity != ANONYMOUS:
        client.force_login(world.people[identity])
    return client


def answer(client: Client, operation: Operation, values: Mapping[str, Any]) -> tuple[Any, str]:
    """The answer to a request without a body, or with an empty one, and its text. Nothing that it changed stays."""
    sent: dict[str, Any] = {}
    if operation.is_api and not operation.is_safe:
        sent = {"content_type": "application/json", "data": body_of(operation, values)}
    with transaction.atomic():
        response = getattr(client, operation.method.lower())(operation.address(values), **sent)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        transaction.set_rollback(True)
    return response, content.decode(errors="replace")


def find_problem(identity: str, operation: Operation, need: Need, response: Any) -> str:
    """Empty, or how the answer differs from what the person should get."""
    status = response.status_code
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return ""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        error = getattr(response, "exc_info", None) or response.content
        return f"fails with {status}: {error}"
    to_login = status == HTTPStatus.FOUND and response.headers["Location"].startswith("/accounts/login/")
    asked_to_sign_in = to_login or status == HTTPStatus.UNAUTHORIZED
    if need.public:
        return f"is public, answers {status}" if asked_to_sign_in else ""
    if identity == ANONYMOUS:
        return "" if asked_to_sign_in else f"answers {status} without an account"
    allowed = need.allows(identity) and (identity != READER or operation.is_safe)
    if allowed:
        return f"should be allowed, answers {status}" if asked_to_sign_in or status in REFUSED else ""
    # Whoever left knows of their own work; they may be told why they cannot go on with it.
    knows_it = not need.in_project or (identity == LEAVER and need.people)
    if identity in STRANGERS and not knows_it:
        return "" if status == HTTPStatus.NOT_FOUND else f"should not exist for them, answers {status}"
    return "" if status in REFUSED else f"should be refused, answers {status}"


def secrets_in(content: str, identity: str, need: Need) -> list[str]:
    """Addresses of others, which only managers of members see, and names where judgement must not know them.

    Annotators see no names of others, nor do controllers, who judge without them.
    """
    words = set() if need == MEMBERS else set(re.findall(r"[\w-]+@people.example", content))
    if identity in (ANNOTATOR, COLLEAGUE, CONTROLLER):
        words |= set(re.findall(r"x-[a-z]+|Quinn \w+", content)) & OTHERS
    return sorted(word for word in words if identity not in word.lower())
