"""The page for editing a project's questions, its versions, and its permissions."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.labelling.models.labels import Schema
from annotation.labelling.schema.yaml_text import read_yaml
from annotation.labelling.selectors.schemas import load_schema, newest_version
from annotation.labelling.services.schemas import save_schema
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from frontend.pages.labelling.schema import changed_lines
from projects.models import Project

URL = "/p/quality/schema/"
API = "/api/v1/projects/quality/schemas/"
GOOD = {"dialogue": {"verify": 0, "quality": 2}, "utterances": {}}
ASKED = """
questions:
- key: kind
  scope: dialogue
  kind: choice
  text: {en: Is it kind?, zh: 友善吗？}
  options:
  - value: 1
    text: {en: "yes", zh: 是}
  - value: 0
    text: {en: "no", zh: 否}
"""

pytestmark = pytest.mark.django_db


def signed(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def data_of(client: Client, query: str = "") -> dict[str, Any]:
    data: dict[str, Any] = client.get(URL + query).context["data"]
    return data


def save(client: Client, yaml: str, **more: object) -> Any:
    body = {"id": str(uuid4()), "yaml": yaml, **more}
    return client.post(API, body, content_type="application/json")


def newest(project: Project) -> Schema:
    row = newest_version(project)
    assert row is not None
    return row


def answered(project: Project, person: User) -> None:
    assignment = claim_next_task(annotator=person, project=project, claim_id=uuid4())
    sent = SentLabels(id=uuid4(), schema=newest(project).version, answers=GOOD)
    submit_labels(annotator=person, assignment_id=assignment.pk, sent=sent)


def test_mara_writes_the_newest_questions(mara: User, quality: Project) -> None:
    page = signed(mara).get(URL)
    assert page.status_code == 200
    assert b'data-key-label="Save"' in page.content
    assert page.context["data"]["content"] == newest(quality).content
    assert [row["speaker"] for row in page.context["data"]["sample"]["utterances"]] == ["user", "assistant"]


def test_anna_sees_no_editor_and_no_dialogues_of_others(anna: User) -> None:
    page = signed(anna).get(URL)
    assert page.status_code == 200
    assert b'data-key-label="Save"' not in page.content
    assert b"key: quality" in page.content
    assert page.context["data"]["sample"]["utterances"] == []


def test_anna_cannot_save_check_use_or_download_presets(anna: User, quality: Project) -> None:
    client = signed(anna)
    assert save(client, ASKED).status_code == 403
    assert client.post(f"{API}check/", {"yaml": ASKED}, content_type="application/json").status_code == 403
    assert client.post(f"{URL}1/use/").status_code == 403
    assert client.get(f"{URL}presets/dch.yaml").status_code == 403
    assert newest(quality).version == 1


def test_a_stranger_finds_nothing(quality: Project) -> None:
    stranger = User.objects.create(username="stranger", email="stranger@example.org")
    assert signed(stranger).get(URL).status_code == 404


def test_unused_questions_are_replaced_and_used_ones_kept(mara: User, anna: User, quality: Project) -> None:
    client = signed(mara)
    assert data_of(client)["newest"]["replaceable"] is True
    answered(quality, anna)
    state = data_of(client)["newest"]
    assert (state["version"], state["answered"], state["replaceable"]) == (1, 1, False)
    saved = save(client, ASKED, based_on=state["sha256"])
    assert (saved.status_code, saved.json()["version"]) == (201, 2)
    first = Schema.objects.get(project=quality, version=1)
    assert first.used_at is not None
    assert len(first.content["questions"]) > 1


def test_a_version_shows_its_text_and_changes(mara: User, anna: User, quality: Project) -> None:
    answered(quality, anna)
    save(signed(mara), ASKED)
    page = signed(anna).get(f"{URL}2/")
    assert page.context["before"].version == 1
    kinds = {piece.kind for piece in page.context["changes"]}
    assert {"added", "removed"} <= kinds
    assert signed(anna).get(f"{URL}3/").status_code == 404


def test_the_download_contains_the_same_questions(mara: User, quality: Project) -> None:
    answer = signed(mara).get(f"{URL}1/schema.yaml")
    assert "quality-schema-1.yaml" in answer["Content-Disposition"]
    assert read_yaml(answer.content.decode()).sha256 == load_schema(newest(quality)).sha256


def test_the_second_of_two_concurrent_saves_is_refused_and_loses_nothing(
    mara: User, tina: User, quality: Project
) -> None:
    known = data_of(signed(tina))["newest"]["sha256"]
    assert save(signed(mara), ASKED, based_on=known).status_code == 201
    refused = save(signed(tina), ASKED.replace("kind?", "polite?"), based_on=known)
    assert refused.status_code == 409
    assert refused.json()["code"] == "schema_newer"
    assert refused.json()["version"] == newest(quality).version
    repeated = save(signed(tina), ASKED.replace("kind?", "polite?"), based_on=refused.json()["sha256"])
    assert repeated.status_code == 201


def test_saving_equal_questions_twice_is_not_a_conflict(mara: User, quality: Project) -> None:
    known = newest(quality).sha256
    save_schema(project=quality, actor=mara, content=ASKED, save_id=uuid4(), based_on=known)
    repeated = save_schema(project=quality, actor=mara, content=ASKED, save_id=uuid4(), based_on=known)
    assert repeated.is_new is False


def test_the_newer_version_is_named_in_the_refusal(mara: User, quality: Project) -> None:
    with pytest.raises(Refusal) as refused:
        save_schema(project=quality, actor=mara, content=ASKED, save_id=uuid4(), based_on="0" * 64)
    assert refused.value.details["version"] == 1


@pytest.mark.parametrize(
    ("text", "line", "is_data"),
    [("questions:\n- key: a: b\n", 2, False), ("questions:\n- key: a\n  kind: nothing\n", 3, True)],
)
def test_a_problem_has_a_line_and_a_remedy(
    mara: User, quality: Project, text: str, line: int, is_data: bool
) -> None:
    answer = signed(mara).post(f"{API}check/", {"yaml": text}, content_type="application/json").json()
    assert answer["content"] is None
    assert line in [problem["line"] for problem in answer["problems"]]
    assert all(problem["message"] and problem["remedy"] for problem in answer["problems"])
    assert (answer["parsed"] is not None) is is_data


def test_new_work_can_use_an_older_version_again(mara: User, anna: User, quality: Project) -> None:
    answered(quality, anna)
    save(signed(mara), ASKED)
    assert signed(mara).post(f"{URL}1/use/").status_code == 302
    quality.labelling.refresh_from_db()
    assert quality.labelling.schema is not None
    assert quality.labelling.schema.version == 1


def test_presets_are_served_as_yaml(mara: User, quality: Project) -> None:
    client = signed(mara)
    for name in ("diqad", "dch", "dialeval", "diamante-evaluation"):
        assert read_yaml(client.get(f"{URL}presets/{name}.yaml").content.decode()).questions
    assert client.get(f"{URL}presets/other.yaml").status_code == 404


def test_only_configuring_roles_see_the_tab(mara: User, anna: User, quality: Project) -> None:
    link = f'href="{URL}"'.encode()
    assert link in signed(mara).get("/p/quality/").content
    assert link not in signed(anna).get("/p/quality/").content


def test_the_number_of_queries_does_not_depend_on_the_versions(
    mara: User, quality: Project, django_assert_max_num_queries: Any
) -> None:
    content = newest(quality).content
    Schema.objects.bulk_create(
        Schema(project=quality, version=n, content=content, sha256=newest(quality).sha256, created_by=mara)
        for n in range(2, 60)
    )
    client = signed(mara)
    with django_assert_max_num_queries(20):
        page = client.get(URL)
    assert len(page.context["versions"]) == 50


def test_changed_lines_leave_out_distant_context() -> None:
    before = "\n".join(f"line {n}" for n in range(50))
    changes = changed_lines(before, before.replace("line 5\n", "new\n").replace("line 40", "other"))
    assert [piece.text for piece in changes if piece.kind == "added"] == ["new", "other"]
    assert [piece.kind for piece in changes].count("gap") == 1
    assert len(changes) < 20
