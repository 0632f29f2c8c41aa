"""Requests generated from the OpenAPI document, sent to the whole application in the name of somebody with every role.

No answer may be an error of ours, and every answer must be one that the document describes. Half of the addresses name
things that exist, so that the requests get past the door.
"""

import io
import logging
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import override_settings
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.models import Scope, User
from accounts.services import create_token
from annotation.authoring.services.planning import plan_dialogues
from annotation.authoring.services.turns import SentTurn, submit_turn
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from dialogues.services.imports import start_import
from generation.models import CandidateRequest
from jobs.models import Job, JobState
from preference.data.formats.card import CardCounts
from preference.data.models.snapshots import Snapshot
from preference.data.services.exports import start_export
from preference.evaluation.services import evaluate_trained
from projects.models import Membership, Project, Role
from tests.conftest import create_authoring_project
from tests.module_rows import shared_rows
from tests.preference.learning import data_of, trained_model, training
from tests.sizes import OPENAPI_EXAMPLES

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def closing_application() -> Any:
    """The application as a WSGI server runs it: it closes each answer. The test client leaves files open."""
    application = get_wsgi_application()

    def respond(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        with closing(application(environ, start_response)) as response:
            return list(response)

    return respond


def application() -> Any:
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    schema = schemathesis.openapi.from_dict(document)
    schema.app = closing_application()
    return schema


OPERATIONS = [operation.ok() for operation in application().get_all_operations()]


@dataclass(frozen=True, slots=True)
class World:
    """known: what exists, values for parameters of addresses, by the beginning of the address and the parameter's name.

    token: of olga, who has every role.
    """

    known: dict[str, list[Any]]
    token: str


@pytest.fixture(scope="module")
def _world(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    files: Path = tmp_path_factory.mktemp("schemathesis")
    with (
        override_settings(FILES_ROOT=files, MODELS_ROOT=files / "models"),
        shared_rows(django_db_blocker),
    ):
        yield create_world()


@pytest.fixture
def world(_world: World, db: None) -> Iterator[World]:
    """The application answers inside the test's transaction, whose connection must stay open between requests."""
    cache.clear()
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    logging.disable(logging.WARNING)  # thousands of lines that pytest would keep
    yield _world
    logging.disable(logging.NOTSET)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def create_world() -> World:
    people = {name: User.objects.create(username=name) for name in ("mara", "olga", "ann", "bob")}
    olga, mara = people["olga"], people["mara"]
    project = create_authoring_project(mara)
    for person, roles in (
        (olga, list(Role)),
        (people["ann"], [Role.ANNOTATOR]),
        (people["bob"], [Role.ANNOTATOR]),
    ):
        Membership.objects.create(project=project, user=person, roles=roles)
    return World(
        known=create_rows(project, olga, mara),
        token=create_token(user=olga, name="schemathesis", scopes=list(Scope))[1],
    )


def create_rows(project: Project, olga: User, mara: User) -> dict[str, list[Any]]:
    plan_dialogues(project=project, actor=mara, count=3, plan_id=uuid4())
    assignment = claim_next_task(annotator=olga, project=project, claim_id=uuid4())
    for position in range(2):
        turn = SentTurn(id=uuid4(), position=position, text=f"Turn {position}")
        submit_turn(annotator=olga, assignment_id=assignment.pk, sent=turn)
    spare, _plain = create_token(user=olga, name="spare", scopes=["read"])
    imported = start_import(
        project=project,
        actor=olga,
        source=io.BytesIO(b"[]"),
        name="chats.jsonl",
        format="messages",
        submission_id=uuid4(),
    )
    Job.objects.filter(pk=imported.pk).update(state=JobState.FAILED)
    export = start_export(export_id=uuid4(), project=project, actor=olga, format="diamante")
    model = trained_model(project, model="/models/base")
    Snapshot.objects.filter(pk=data_of(model).pk).update(card=CardCounts().as_json(["train"]))
    run = training(project, None, data_of(model), model=model.slug)
    (evaluation, _of_base) = evaluate_trained(model=model, ids=(uuid4(), uuid4()))
    return {
        "slug": [project.slug],
        "username": ["ann", "bob", "mara"],
        "assignments": [assignment.pk],
        "dialogues": [Assignment.objects.get(pk=assignment.pk).dialogue_id],
        "tokens": [spare.pk],
        "jobs": [str(imported.pk), str(export.pk)],
        "exports": [str(export.pk)],
        "snapshots": [str(model.snapshot_id)],
        "training-runs": [str(run.pk), str(model.training_run_id)],
        "evaluations": [str(evaluation.pk)],
        "models.slug": [model.slug],
        "imports": [str(imported.pk)],
        "candidate-requests": [str(pk) for pk in CandidateRequest.objects.values_list("pk", flat=True)],
    }


def aim(case: Any, known: dict[str, list[Any]], chance: random.Random) -> None:
    """Put values that exist into three of four addresses."""
    kind = case.path.removeprefix("/api/v1/").split("/")[0]
    for name in case.path_parameters or {}:
        values = known.get(f"{kind}.{name}") or known.get(kind if name == "id" else name)
        if values and chance.random() < 0.75:
            case.path_parameters[name] = chance.choice(values)


def has_outer_spaces(value: Any) -> bool:
    """Whether a text in a body begins or ends with spaces: they are cut before its length is checked."""
    if isinstance(value, dict):
        return any(map(has_outer_spaces, value.values()))
    if isinstance(value, list):
        return any(map(has_outer_spaces, value))
    return isinstance(value, str) and value != value.strip()


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS, ids=[operation.label for operation in OPERATIONS])
def test_every_operation_keeps_to_the_document(operation: Any, world: World) -> None:
    right = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    takes_input = bool(operation.body or operation.path_parameters or operation.query)

    @settings(
        max_examples=2 * OPENAPI_EXAMPLES if takes_input else 1,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=right | wrong if takes_input else right, chance=st.randoms(use_true_random=False))
    def check(case: Any, chance: random.Random) -> None:
        aim(case, world.known, chance)
        wrong_in = {place for place, component in case.meta.components.items() if component.mode.is_negative}
        # Elsewhere a wrong value is not sent (we put our own into the address and the headers), or harmless: an empty
        # filter is none, and a query that an address does not read is left alone.
        is_refused = wrong_in == {ParameterLocation.BODY} and not has_outer_spaces(case.body)
        checks = [*CHECKS, negative_data_rejection] if is_refused else CHECKS
        headers = {"Authorization": f"Bearer {world.token}", "Accept-Encoding": "identity"}
        case.call_and_validate(headers=headers, checks=checks)

    check()
