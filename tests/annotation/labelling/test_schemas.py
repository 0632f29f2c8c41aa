"""Versions of a project's questions: saving, freezing and using them, through services and the REST API."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings, Schema
from annotation.labelling.schema.reading import read_schema
from annotation.labelling.schema.yaml_text import to_yaml
from annotation.labelling.selectors.schemas import (
    current_schema,
    get_schema_version,
    load_schema,
    schema_versions,
)
from annotation.labelling.services.schemas import mark_used, save_schema, use_schema
from annotation.project_setup.presets.registry import PRESETS
from common.refusals import Invalid, NotFound, Refusal
from projects.models import Event, Project, Protocol, Role
from tests.conftest import Joins

DIQAD, DCH = (PRESETS[name].schema or {} for name in ("diqad", "dch"))
SCHEMAS = "/api/v1/projects/quality/schemas/"


@pytest.fixture
def quality(mara: User, joins: Joins) -> Project:
    """A labelling project without questions yet."""
    project = Project.objects.create(slug="quality", title="Quality", protocol=Protocol.LABELLING)
    LabellingSettings.objects.create(project=project)
    joins("mara", project, Role.MANAGER)
    return project


@pytest.fixture
def tess(joins: Joins, quality: Project) -> User:
    return joins("tess", quality, Role.TRAINER)


@pytest.fixture
def api(client: Client, tess: User) -> Client:
    """Signed in as Tess."""
    client.force_login(tess)
    return client


def save(project: Project, content: Any, **more: Any) -> Schema:
    return save_schema(project=project, actor=None, content=content, save_id=uuid4(), **more).row


def test_the_first_save_is_version_1_and_in_use(quality: Project, tess: User) -> None:
    saved = save_schema(project=quality, actor=tess, content=DIQAD, save_id=uuid4())
    assert (saved.row.version, saved.is_new, saved.row.created_by) == (1, True, tess)
    assert current_schema(quality) == saved.row
    kinds = set(Event.objects.filter(project=quality).values_list("kind", flat=True))
    assert kinds == {"schema_saved", "schema_used"}


def test_yaml_and_content_are_the_same_questions(quality: Project) -> None:
    first = save(quality, DIQAD)
    repeated = save_schema(project=quality, actor=None, content=to_yaml(read_schema(DIQAD)), save_id=uuid4())
    assert (repeated.row, repeated.is_new) == (first, False)


def test_a_repeated_save_is_stored_once(quality: Project) -> None:
    save_id = uuid4()
    first = save_schema(project=quality, actor=None, content=DIQAD, save_id=save_id)
    repeated = save_schema(project=quality, actor=None, content=to_yaml(read_schema(DIQAD)), save_id=save_id)
    assert (repeated.row, repeated.is_new) == (first.row, False)
    assert Event.objects.filter(kind="schema_saved").count() == 1


def test_the_id_of_a_save_is_refused_for_other_questions_or_another_project(quality: Project) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol=Protocol.LABELLING)
    LabellingSettings.objects.create(project=other)
    save_id = uuid4()
    save_schema(project=quality, actor=None, content=DIQAD, save_id=save_id)
    for project, content in ((quality, DCH), (other, DIQAD)):
        with pytest.raises(Refusal) as refused:
            save_schema(project=project, actor=None, content=content, save_id=save_id)
        assert refused.value.code == "id_in_use"
    assert Schema.objects.get().sha256 == read_schema(DIQAD).sha256


def test_an_unused_version_is_replaced(quality: Project) -> None:
    first = save(quality, DIQAD)
    second = save(quality, DCH)
    assert (second.pk, second.version, second.sha256) == (first.pk, 1, read_schema(DCH).sha256)


def test_a_used_version_is_frozen(quality: Project) -> None:
    first = save(quality, DIQAD)
    assert mark_used(first)
    second = save(quality, DCH)
    assert second.version == 2
    first.refresh_from_db()
    assert first.sha256 == read_schema(DIQAD).sha256
    assert current_schema(quality) == second


def test_only_the_first_answer_freezes(quality: Project) -> None:
    row = save(quality, DIQAD)
    stale = get_schema_version(quality, 1)
    assert mark_used(row)
    assert not mark_used(row)
    assert not mark_used(stale)


def test_replaced_questions_cannot_be_answered(quality: Project) -> None:
    row = save(quality, DIQAD)
    save(quality, DCH)
    with pytest.raises(Refusal) as refused:
        mark_used(row)
    assert refused.value.code == "schema_changed"


def test_equal_questions_create_no_version(quality: Project) -> None:
    mark_used(save(quality, DIQAD))
    assert save(quality, DIQAD).version == 1
    assert Schema.objects.count() == 1


def test_a_version_can_be_saved_without_being_used(quality: Project) -> None:
    mark_used(save(quality, DIQAD))
    save(quality, DCH, use=False)
    current = current_schema(quality)
    assert current is not None
    assert current.version == 1
    assert use_schema(project=quality, actor=None, version=2) == current_schema(quality)
    assert use_schema(project=quality, actor=None, version=2).version == 2
    assert Event.objects.filter(kind="schema_used").count() == 2


def test_invalid_questions_change_nothing(quality: Project) -> None:
    with pytest.raises(Invalid) as refused:
        save(quality, "questions:\n- key: 1\n")
    assert refused.value.details["problems"][0]["line"] == 2
    assert str(refused.value.message).startswith("Line 2: ")
    assert not Schema.objects.exists()


def test_authoring_projects_have_no_questions(project: Project) -> None:
    with pytest.raises(Refusal) as refused:
        save(project, DIQAD)
    assert refused.value.code == "no_schema"


def test_a_version_of_another_project_is_not_found(quality: Project, project: Project) -> None:
    save(quality, DIQAD)
    with pytest.raises(NotFound):
        get_schema_version(project, 1)


def test_a_loaded_schema_is_cached(quality: Project) -> None:
    row = save(quality, DIQAD)
    assert load_schema(row) is load_schema(get_schema_version(quality, 1))


def test_the_list_takes_one_query_at_any_length(quality: Project) -> None:
    for content in (DIQAD, DCH, DIQAD, DCH):
        mark_used(save(quality, content))
    with CaptureQueriesContext(connection) as queries:
        assert [row.version for row in schema_versions(quality)] == [4, 3, 2, 1]
    assert len(queries) == 1


# ---- the REST API -----------------------------------------------------------------------------------------------


def post(api: Client, address: str, **body: Any) -> Any:
    return api.post(address, body, content_type="application/json")


def test_saving_and_reading(api: Client, quality: Project) -> None:
    body = {"id": str(uuid4()), "yaml": to_yaml(read_schema(DIQAD))}
    first, repeated = (post(api, SCHEMAS, **body) for _ in range(2))
    assert (first.status_code, repeated.status_code) == (201, 200)
    assert first.json()["content"] == DIQAD
    (row,) = api.get(SCHEMAS).json()["results"]
    assert (row["version"], row["created_by"], row["used_at"], row["answered"]) == (1, "tess", None, 0)


def test_an_unchanged_schema_is_not_sent_again(api: Client, quality: Project) -> None:
    save(quality, DIQAD)
    first = api.get(f"{SCHEMAS}1/")
    assert first.json()["content"] == DIQAD
    repeated = api.get(f"{SCHEMAS}1/", headers={"If-None-Match": first["ETag"]})
    assert (repeated.status_code, repeated.content) == (304, b"")


def test_annotators_can_read_the_questions_but_not_change_them(
    client: Client, quality: Project, joins: Joins
) -> None:
    save(quality, DIQAD)
    client.force_login(joins("nils", quality, Role.ANNOTATOR))
    assert client.get(f"{SCHEMAS}1/").status_code == 200
    assert client.get(f"{SCHEMAS}current/").json()["version"] == 1
    assert client.get(SCHEMAS).status_code == 403
    assert post(client, SCHEMAS, id=str(uuid4()), content=DCH).status_code == 403
    assert post(client, f"{SCHEMAS}check/", content=DCH).status_code == 403


def test_checking_stores_nothing(api: Client, quality: Project) -> None:
    good = post(api, f"{SCHEMAS}check/", content=DIQAD)
    assert good.json() == {"content": DIQAD, "problems": [], "parsed": DIQAD}
    (problem,) = post(api, f"{SCHEMAS}check/", yaml="questions: [").json()["problems"]
    assert problem["line"]
    assert not Schema.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": DIQAD, "yaml": "x"},
        {"content": 5},
        {"content": None},
        {"yaml": 5},
        {"content": {}, "x": 1},
    ],
)
def test_malformed_requests_are_refused(api: Client, quality: Project, body: dict[str, Any]) -> None:
    answer = post(api, SCHEMAS, id=str(uuid4()), **body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_problems_come_with_the_refusal(api: Client, quality: Project) -> None:
    answer = post(api, SCHEMAS, id=str(uuid4()), content={"questions": [{"key": "x"}]})
    assert answer.status_code == 400
    assert {problem["path"] for problem in answer.json()["problems"]} >= {
        "questions[0].scope",
        "questions[0].text",
    }


def test_using_a_version(api: Client, quality: Project) -> None:
    mark_used(save(quality, DIQAD))
    save(quality, DCH)
    answer = api.put(f"{SCHEMAS}current/", {"version": 1}, content_type="application/json")
    assert (answer.status_code, answer.json()["version"]) == (200, 1)
    assert api.put(f"{SCHEMAS}current/", {"version": 9}, content_type="application/json").status_code == 404
