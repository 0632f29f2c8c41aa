"""REST API of imports and dialogues."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import Scope, User
from accounts.services import create_token
from dialogues.models import Action, CandidateSet, Dialogue, Utterance
from jobs.folders import MARKER
from jobs.models import Job, JobState
from jobs.services import run_job
from projects.models import Project, Role
from tests.conftest import Joins
from tests.dialogues.conftest import Import, chats
from tests.disks import files_up_to

BROKEN = '{"messages": [{"role": "user", "content": 3}]}\n'
Send = Callable[..., Any]


@pytest.fixture
def eric(joins: Joins, chitchat: Project) -> User:
    """ML engineer: may import and read."""
    return joins("eric", chitchat, Role.ENGINEER)


@pytest.fixture
def api(client: Client, eric: User) -> Client:
    client.force_login(eric)
    return client


@pytest.fixture
def send(api: Client, chitchat: Project) -> Send:
    """send(data, **fields) as a form; the import is not carried out."""

    def send(data: str = "", /, **fields: Any) -> Any:
        file = SimpleUploadedFile("chats.jsonl", (data or chats("a")).encode())
        form = {"id": uuid4(), "format": "messages", "file": file} | fields
        return api.post(f"/api/v1/projects/{chitchat.slug}/imports/", form)

    return send


def kept(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and path.name != MARKER]


def test_a_file_is_taken_in_and_its_import_followed(send: Send, api: Client) -> None:
    answer = send(chats("a", "b") + BROKEN)
    assert answer.status_code == 202
    body = answer.json()
    assert (body["state"], body["name"], body["project"]) == ("queued", "chats.jsonl", "chitchat")
    run_job(job_id=body["id"])
    done = api.get(f"/api/v1/imports/{body['id']}/").json()
    assert (done["state"], done["stored"], done["refused"], done["created_by"]) == ("done", 2, 1, "eric")


def test_the_body_can_be_the_file_itself(api: Client, chitchat: Project) -> None:
    address = f"/api/v1/projects/{chitchat.slug}/imports/?id={uuid4()}&format=messages&name=raw.jsonl"
    answer = api.post(address, chats("a"), content_type="application/octet-stream")
    assert (answer.status_code, answer.json()["name"]) == (202, "raw.jsonl")
    assert run_job(job_id=answer.json()["id"]).result["stored"] == 1


def test_the_same_id_again_is_the_same_import(send: Send) -> None:
    submission = uuid4()
    first, second = send(chats("a"), id=submission), send(chats("a"), id=submission)
    assert (second.status_code, first.json()["id"], Job.objects.count()) == (202, second.json()["id"], 1)


@pytest.mark.parametrize("changes", [{"format": "eou"}, {"on_error": "stop"}, {"name": "other.jsonl"}])
def test_an_id_of_an_import_with_other_fields_is_refused(send: Send, changes: dict[str, str]) -> None:
    submission = uuid4()
    send(chats("a"), id=submission)
    answer = send(chats("a"), id=submission, **changes)
    assert (answer.status_code, answer.json()["code"]) == (409, "id_in_use")


def test_a_map_of_keys_is_taken_and_the_same_request_is_the_same_import(send: Send) -> None:
    fields = {"format": "json", "map": "text=t, utterances=turns", "id": uuid4()}
    data = json.dumps([{"turns": [{"t": "a"}]}])
    first, second = (send(data, **fields).json() for _twice in range(2))
    assert (first["id"], first["map"]) == (second["id"], "utterances=turns,text=t")
    assert run_job(job_id=first["id"]).result["stored"] == 1
    assert send(data, **fields, on_error="stop").status_code == 409
    wrong = send(data, format="messages", map="text=t").json()
    assert (wrong["code"], wrong["detail"]) == ("invalid", "The format “messages” takes no keys.")


def test_an_id_of_an_import_of_another_file_is_refused(send: Send) -> None:
    submission = uuid4()
    send(chats("a"), id=submission)
    answer = send(chats("b"), id=submission)
    assert (answer.status_code, answer.json()["code"]) == (409, "id_in_use")


def test_an_id_of_another_project_is_refused_as_a_problem(send: Send, start: Import) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    answer = send(id=start(chats("a"), project=other).pk)
    assert (answer.status_code, answer.json()["code"]) == (409, "id_in_use")
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [({"format": "word"}, "format"), ({"on_error": "ignore"}, "on_error"), ({"id": "7"}, "id"), ({"file": ""}, "file")],
)  # fmt: skip
def test_wrong_fields_are_named(send: Send, fields: dict[str, str], wrong: str) -> None:
    answer = send(**fields)
    assert (answer.status_code, list(answer.json()["errors"])) == (400, [wrong])
    assert not Job.objects.exists()


@pytest.mark.parametrize("raw", [False, True])
def test_an_empty_file_is_refused(api: Client, send: Send, chitchat: Project, raw: bool) -> None:
    if raw:
        address = f"/api/v1/projects/{chitchat.slug}/imports/?id={uuid4()}&format=messages"
        answer = api.generic("POST", address, CONTENT_TYPE="application/octet-stream")
    else:
        answer = send(file=SimpleUploadedFile("empty.jsonl", b""))
    assert (answer.status_code, answer.json()["detail"]) == (400, "The file is empty.")


def test_json_instead_of_a_file_is_refused(api: Client, chitchat: Project) -> None:
    answer = api.post(f"/api/v1/projects/{chitchat.slug}/imports/", {}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


class Unread:
    """A body that fails the test when anything of it is read."""

    def read(self, *_: Any) -> bytes:
        raise AssertionError("the body was read")

    readline = read


@pytest.mark.parametrize("content_type", ["application/octet-stream", "multipart/form-data; boundary=x"])
def test_too_large_a_file_is_refused_before_it_is_read(
    api: Client, chitchat: Project, settings: Settings, content_type: str
) -> None:
    settings.IMPORT_MAX_BYTES = 2 * 1024**2
    answer = api.generic(
        "POST",
        f"/api/v1/projects/{chitchat.slug}/imports/?id={uuid4()}&format=messages",
        content_type=content_type,
        CONTENT_LENGTH=str(3 * 1024**2),
        **{"wsgi.input": Unread()},  # type: ignore[arg-type]
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert answer.json()["detail"] == "The file is larger than 2 MB."
    assert answer.json()["limit"] == 2 * 1024**2


def test_a_length_that_was_not_announced_is_counted(send: Send, settings: Settings, files_root: Path) -> None:
    settings.IMPORT_MAX_BYTES = 100  # the form beside the file may take more
    answer = send(chats("x" * 200))
    assert (answer.status_code, Job.objects.count()) == (413, 0)
    assert kept(files_root) == []


def test_a_disk_that_fills_while_the_form_is_read_is_reported(send: Send, files_root: Path) -> None:
    with files_up_to(1024**2):
        answer = send("x" * 3 * 1024**2)
    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
    assert answer.json()["remedy"]
    assert (Job.objects.count(), kept(files_root)) == (0, [])


def test_a_disk_that_fills_during_the_copy_is_reported_and_nothing_stays(
    api: Client, chitchat: Project, files_root: Path
) -> None:
    address = f"/api/v1/projects/{chitchat.slug}/imports/?id={uuid4()}&format=messages"
    with files_up_to(1024**2):
        answer = api.post(address, b"x" * 3 * 1024**2, content_type="application/octet-stream")
    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
    assert (Job.objects.count(), kept(files_root)) == (0, [])


# --- who may ---


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER, Role.TRAINER])
def test_a_refused_import_names_the_roles_that_may(
    client: Client, joins: Joins, chitchat: Project, role: Role
) -> None:
    client.force_login(joins("tom", chitchat, role))
    answer = client.post(f"/api/v1/projects/{chitchat.slug}/imports/", {"file": io.BytesIO(b"x")})
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert "ML engineer" in answer.json()["detail"]


def test_a_stranger_does_not_find_the_projects_imports(client: Client, joins: Joins, start: Import) -> None:
    job = start(chats("a"))
    client.force_login(joins("zoe"))
    for address in ("", "errors/", "errors.csv"):
        assert client.get(f"/api/v1/imports/{job.pk}/{address}").status_code == 404


def test_a_token_that_only_reads_cannot_import(client: Client, eric: User, chitchat: Project) -> None:
    _token, plain = create_token(user=eric, name="reader", scopes=[Scope.READ])
    header = {"Authorization": f"Bearer {plain}"}
    address = f"/api/v1/projects/{chitchat.slug}/imports/"
    assert client.get(address, headers=header).status_code == 200
    answer = client.post(address, {"file": io.BytesIO(b"x")}, headers=header)
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")


# --- what was refused ---


def test_every_refused_row_can_be_read_in_pages(api: Client, imported: Import) -> None:
    job = imported(chats("a") + BROKEN * 450)
    address: str | None = f"/api/v1/imports/{job.pk}/errors/?page_size=200"
    lines: list[int] = []
    while address:
        page = api.get(address).json()
        lines += [row["line"] for row in page["results"]]
        address = page["next"]
    assert lines == list(range(2, 452))
    assert page["results"][0]["reason"] == "messages[0].content must be text, is a number."
    assert page["results"][0]["remedy"]


def test_refused_rows_and_imports_are_explained_in_the_readers_language(
    api: Client, imported: Import, eric: User
) -> None:
    job = imported(BROKEN)
    assert job.error == "Nothing was imported: 1 row is refused."
    eric.language = "zh-hans"
    eric.save()
    refused = api.get(f"/api/v1/imports/{job.pk}/").json()
    assert refused["error"] == "未导入任何内容：有 1 行未通过。"
    assert refused["remedy"].startswith("请改正")
    row = api.get(f"/api/v1/imports/{job.pk}/errors/").json()["results"][0]
    assert (row["code"], row["reason"]) == ("wrong_type", "messages[0].content 应为文本，实际为数字。")


def test_a_refused_import_of_an_earlier_release_keeps_its_words(api: Client, imported: Import) -> None:
    job = imported(BROKEN)
    job.result = {"refused": 1}
    job.error = "Line 1 is refused."
    job.save()
    assert api.get(f"/api/v1/imports/{job.pk}/").json()["error"] == "Line 1 is refused."


def test_the_table_of_refused_rows_opens_in_a_spreadsheet(api: Client, imported: Import) -> None:
    rows = 'dialogue_id,speaker,text\nd1,A,a\n"=1+1",A,\n"=1+1",B,b\n'
    job = imported(rows, "csv")
    answer = api.get(f"/api/v1/imports/{job.pk}/errors.csv")
    data = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert data.startswith("\ufeffline,code,reason,remedy\r\n3,")
    table = list(csv.reader(io.StringIO(data)))
    assert len(table) == 1 + job.result["refused"]
    assert not any(cell[:1] in ("=", "+", "-", "@") for row in table for cell in row)
    assert "attachment" in answer["Content-Disposition"]


def test_an_interrupted_attempt_leaves_no_row_twice(start: Import) -> None:
    job = start(chats("a") + BROKEN * 3)
    run_job(job_id=job.pk)
    Job.objects.update(state=JobState.QUEUED)
    from dialogues.services.refused_rows import RefusedRowWriter

    with RefusedRowWriter(job):
        pass
    assert job.refused_rows.count() == 0


# --- dialogues ---


def test_dialogues_are_listed_page_by_page_in_their_order(
    api: Client, imported: Import, chitchat: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    imported(chats(*map(str, range(120))))
    address: str | None = f"/api/v1/projects/{chitchat.slug}/dialogues/"
    found: list[int] = []
    while address:
        with django_assert_max_num_queries(7):
            page = api.get(address).json()
        found += [row["id"] for row in page["results"]]
        address = page["next"]
    assert found == list(Dialogue.objects.order_by("id").values_list("id", flat=True))


def test_filters_narrow_the_list_and_a_wrong_one_is_refused(
    api: Client, imported: Import, chitchat: Project
) -> None:
    job = imported(chats("a", split="test") + chats("b", split="train", language="zh"))
    imported(chats("c", split="train"))
    address = f"/api/v1/projects/{chitchat.slug}/dialogues/"

    def count(query: str) -> int:
        return len(api.get(f"{address}?{query}").json()["results"])

    assert (count("split=test"), count("split=train&language=zh"), count(f"import_job={job.pk}")) == (1, 1, 2)
    assert (count("origin=authored"), count("state=finished&review_state=unreviewed")) == (0, 3)
    answer = api.get(f"{address}?split=dev")
    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["split"])


def test_an_action_finds_the_dialogues_that_have_it(api: Client, imported: Import, chitchat: Project) -> None:
    imported(chats("a", "b"))
    Utterance.objects.filter(text="b").update(action=Action.REWRITE)
    answer = api.get(f"/api/v1/projects/{chitchat.slug}/dialogues/?action=rewrite")
    assert [row["id"] for row in answer.json()["results"]] == [Dialogue.objects.get(utterances__text="b").pk]


def test_a_dialogue_is_read_whole(api: Client, imported: Import, chitchat: Project) -> None:
    turn = {
        "utterance": "<b>שלום</b>",
        "response_candidates": ["x", "<b>שלום</b>"],
        "action": "select",
        "source": 1,
        "model_version": "m@1",
        "mood": "glad",
    }
    imported(json.dumps({"id": "d1", "site": "x", "conversation": [{"utterance": "Hi"}, turn]}), "diamante")
    body = api.get(f"/api/v1/dialogues/{Dialogue.objects.get().pk}/").json()
    assert (body["external_id"], body["metadata"], body["project"]) == ("d1", {"site": "x"}, "chitchat")
    opening, reply = body["utterances"]
    assert (opening["candidates"], opening["action"], opening["model_version"]) == ([], "", "")
    assert (reply["text"], reply["action"], reply["source"]) == ("<b>שלום</b>", "select", 1)
    assert [candidate["text"] for candidate in reply["candidates"]] == ["x", "<b>שלום</b>"]
    assert (reply["model_version"], reply["metadata"]) == ("m@1", {"mood": "glad"})


def test_an_annotator_does_not_read_others_dialogues(
    client: Client, joins: Joins, imported: Import, chitchat: Project
) -> None:
    imported(chats("a"))
    client.force_login(joins("ann", chitchat, Role.ANNOTATOR))
    assert client.get(f"/api/v1/projects/{chitchat.slug}/dialogues/").status_code == 403
    assert client.get(f"/api/v1/dialogues/{Dialogue.objects.get().pk}/").status_code == 404


def test_a_dialogue_costs_the_same_queries_however_long_it_is(
    api: Client, imported: Import, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    turns = [{"utterance": str(n), "response_candidates": ["x"] * 7} for n in range(100)]
    imported(json.dumps({"conversation": turns}), "diamante")
    assert CandidateSet.objects.count() == 100
    with django_assert_max_num_queries(7):
        assert len(api.get(f"/api/v1/dialogues/{Dialogue.objects.get().pk}/").json()["utterances"]) == 100
