"""Boundary values of every parameter and field of the API, sent to the things of each world: no answer is our error.

Each request is undone, so none can take away what the next one needs, such as the token that it is sent with.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.test import override_settings
from pytest_django import DjangoDbBlocker
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation

from accounts.models import Scope
from accounts.services import create_token
from tests.access.people import ANNOTATOR, READER
from tests.access.routes import operations, parameters_of
from tests.access.world import World, create_world
from tests.api.test_schemathesis import OPERATIONS
from tests.module_rows import shared_rows
from tests.sizes import COVERAGE_CASES

PARAMETER = re.compile(r"{\w+}")
# The reader has every role in every project; the annotator has work of their own.
SENDERS = (READER, ANNOTATOR)
ROUTES = {PARAMETER.sub("{}", operation.route).strip("/"): operation.route for operation in operations()}


@pytest.fixture(scope="module")
def _world(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[World, Mapping[str, str]]]:
    files: Path = tmp_path_factory.mktemp("coverage")
    with (
        override_settings(FILES_ROOT=files, MODELS_ROOT=files / "models"),
        shared_rows(django_db_blocker),
    ):
        world = create_world()
        yield (
            world,
            {
                name: create_token(user=world.people[name], name="coverage", scopes=list(Scope))[1]
                for name in SENDERS
            },
        )


@pytest.fixture
def world(_world: tuple[World, Mapping[str, str]], db: None) -> Iterator[tuple[World, Mapping[str, str]]]:
    """The application answers inside the test's transaction, whose connection must stay open between requests."""
    cache.clear()
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    logging.disable(logging.ERROR)
    yield _world
    logging.disable(logging.NOTSET)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def real_ids(path: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the world for the parameters of an address; without those that it does not have."""
    route = ROUTES[PARAMETER.sub("{}", path).strip("/")]
    names = [name.strip("{}") for name in PARAMETER.findall(path)]
    own = {**values, **values.get(route, {})}
    found = zip(names, parameters_of(route), strict=True)
    return {name: own.get(key, own.get(django)) for name, (key, django) in found}


def cases_of(operation: Any) -> Iterator[Any]:
    """Those of the coverage phase; as many of the first as the size of the tests allows."""
    generated = operation.schema.iter_coverage_cases(
        operation,
        generation_modes=list(GenerationMode),
        generation_config=operation.schema.config.generation_for(operation=operation),
    )
    return islice(generated, COVERAGE_CASES)


def answer(case: Any, token: str) -> Any:
    """The answer to a case. Nothing that it changed stays."""
    headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"}
    with transaction.atomic():
        response = case.call(headers=headers)
        transaction.set_rollback(True)
    return response


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS, ids=[operation.label for operation in OPERATIONS])
def test_no_case_is_our_error(operation: Any, world: tuple[World, Mapping[str, str]]) -> None:
    here, tokens = world
    for case in cases_of(operation):
        path = case.meta.components.get(ParameterLocation.PATH) if case.meta else None
        is_wrong = path is not None and path.mode.is_negative
        for name in here.values:
            for sender in SENDERS:
                if case.path_parameters and not is_wrong:
                    ids = real_ids(case.path, here.values_for(name, sender))
                    case.path_parameters.update({key: value for key, value in ids.items() if value})
                response = answer(case, tokens[sender])
                assert response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR, case.as_curl_command()
                assert response.status_code != HTTPStatus.UNAUTHORIZED
