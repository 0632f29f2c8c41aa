"""The language of dialogues whose file names none."""

import io
import json
import re
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task
from annotation.tasks.selectors.languages import task_languages
from common.refusals import Invalid
from dialogues.models import Dialogue
from dialogues.parsing.format_guess import preview_dialogue
from dialogues.services.imports import start_import
from dialogues.services.languages import set_missing_language
from jobs.models import Job
from jobs.services import run_job
from projects.models import Event, Project, Role
from projects.services import archive_project
from tests.conftest import Joins
from tests.dialogues.conftest import Import, chats

MIXED = chats("a", "b") + chats("c", language="zh-Hans")


def languages() -> list[str]:
    return list(Dialogue.objects.order_by("pk").values_list("language", flat=True))


def test_only_dialogues_without_a_language_get_the_chosen_one(imported: Import) -> None:
    job = imported(MIXED, language="en")
    assert job.result["stored"] == 3
    assert languages() == ["en", "en", "zh-Hans"]


def test_without_a_choice_they_have_none(imported: Import) -> None:
    imported(MIXED)
    assert languages() == ["", "", "zh-Hans"]


def test_the_same_file_with_another_language_brings_no_dialogue_twice(imported: Import) -> None:
    imported(MIXED + chats("d"), language="en")
    again = imported(MIXED + chats("d", "e"), language="fr")
    assert (again.result["stored"], again.result["already_there"]) == (1, 4)
    assert languages() == ["en", "en", "zh-Hans", "en", "fr"]


@pytest.mark.parametrize(
    ("written", "stored"), [("ZH_hans", "zh-Hans"), ("en_us", "en-US"), ("English", "en"), ("eng", "en")]
)
def test_a_code_is_stored_as_others_write_it(imported: Import, written: str, stored: str) -> None:
    imported(MIXED, language=written)
    assert languages() == [stored, stored, "zh-Hans"]


@pytest.mark.parametrize("code", ["english please", "xx", "zh-", "zh\n", "-en", "zh-Hans-CN-x-y"])
def test_what_names_no_language_is_refused_with_an_example(start: Import, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        start(MIXED, language=code)
    assert refused.value.details["field"] == "language"
    assert "zh-Hans" in str(refused.value.remedy)
    assert not Job.objects.exists()


def test_the_command_takes_a_language(chitchat: Project, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(MIXED)
    command = ("import_dialogues", "chitchat", str(file), "--language")
    with pytest.raises(CommandError, match="names no language"):
        call_command(*command, "klingon", skip_checks=True, stderr=io.StringIO())
    call_command(*command, "zh-Hans", skip_checks=True, stdout=io.StringIO(), stderr=io.StringIO())
    assert languages() == ["zh-Hans"] * 3


def test_the_api_takes_a_language_and_gives_one_later(
    client: Client, chitchat: Project, joins: Joins
) -> None:
    client.force_login(joins("eric", chitchat, Role.ENGINEER))
    address = "/api/v1/projects/chitchat/imports/"
    form = {"id": uuid4(), "format": "messages", "language": "en"}
    answer = client.post(address, form | {"file": SimpleUploadedFile("a.jsonl", MIXED.encode())})
    assert answer.json()["language"] == "en"
    run_job(job_id=answer.json()["id"])
    raw = f"{address}?id={uuid4()}&format=messages"
    bad = client.post(f"{raw}&language=nowhere", chats("z"), content_type="application/octet-stream")
    assert (bad.status_code, bad.json()["field"]) == (400, "language")
    plain = client.post(raw, chats("x", "y"), content_type="application/octet-stream").json()
    run_job(job_id=plain["id"])
    later = f"/api/v1/imports/{plain['id']}/language/"
    for changed in (2, 0):
        answer = client.post(later, {"language": "zh"}, content_type="application/json")
        assert (answer.status_code, answer.json()) == (200, {"changed": changed})
    assert languages() == ["en", "en", "zh-Hans", "zh", "zh"]


@pytest.fixture
def quality(mara: User) -> Project:
    return create_project(slug="quality", preset="blank-labelling", actor=mara, title="Quality")


def imported_into(project: Project, data: str, language: str = "") -> Job:
    job = start_import(
        project=project, actor=None, source=io.BytesIO(data.encode()), name="chats.jsonl", format="messages",
        submission_id=uuid4(), language=language, enqueue=False,
    )  # fmt: skip
    return run_job(job_id=job.pk)


def test_tasks_follow_a_language_that_is_given_later(mara: User, quality: Project) -> None:
    job, other = imported_into(quality, MIXED), imported_into(quality, chats("other"))
    assert set(Task.objects.values_list("language", flat=True)) == {"", "zh"}
    quality.labelling.refresh_from_db()
    epoch = quality.labelling.epoch
    assert set_missing_language(job=job, actor=mara, language="en") == 2
    assert set_missing_language(job=job, actor=mara, language="fr") == 0
    assert Event.objects.get(kind="language_set").data["count"] == 2
    tasks = Task.objects.order_by("dialogue_id").values_list("language", flat=True)
    assert list(tasks) == ["en", "en", "zh", ""]
    quality.labelling.refresh_from_db()
    assert quality.labelling.epoch > epoch  # a task may be free for somebody whose cursor has passed it
    assert task_languages(["zh"], quality) is not None
    assert Dialogue.objects.get(import_job=other).language == ""


def test_an_archived_project_stays_as_it_is(client: Client, mara: User, quality: Project) -> None:
    job = imported_into(quality, MIXED)
    archive_project(project=quality, actor=mara)
    client.force_login(mara)
    answer = client.post(
        f"/api/v1/imports/{job.pk}/language/", {"language": "en"}, content_type="application/json"
    )
    assert answer.json()["code"] == "archived"
    assert "en" not in languages()


def test_the_page_of_an_import_gives_a_language_to_those_without(
    client: Client, mara: User, quality: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    job = imported_into(quality, MIXED)
    client.force_login(mara)
    page = f"/p/quality/imports/{job.pk}/"
    with django_assert_max_num_queries(25):
        assert "2 dialogues have no language" in client.get(page).content.decode()
    refused = client.post(f"{page}language/", {"language": "nowhere"})
    assert refused.status_code == 400
    answer = client.post(f"{page}language/", {"language": "en"}, follow=True)
    shown = " ".join(answer.content.decode().split())
    assert "2 dialogues have a language now: English." in shown
    assert "have no language" not in shown
    assert "2 dialogues without a language got English from <bdi>mara</bdi>" in shown
    assert "it cannot be corrected here" in shown
    assert "<bdi>English</bdi> 2" in shown
    assert "<bdi>中文 (zh-Hans)</bdi> 1" in shown
    assert languages() == ["en", "en", "zh-Hans"]


def test_the_page_shows_the_language_that_was_chosen_for_the_import(
    client: Client, mara: User, quality: Project
) -> None:
    job = imported_into(quality, MIXED, language="en")
    client.force_login(mara)
    address = f"/p/quality/imports/{job.pk}/"
    assert (
        "2 dialogues without a language got English with the import." in client.get(address).content.decode()
    )
    result = {name: value for name, value in job.result.items() if name != "language_given"}
    Job.objects.filter(pk=job.pk).update(result=result)  # as an earlier release stored it
    page = client.get(address).content.decode()
    assert "Dialogues without a language were to get English with the import." in page


def test_the_page_names_no_language_that_no_dialogue_got(
    client: Client, mara: User, quality: Project
) -> None:
    job = imported_into(quality, chats("a", language="zh-Hans"), language="en")
    assert job.result["language_given"] == 0
    client.force_login(mara)
    page = client.get(f"/p/quality/imports/{job.pk}/").content.decode()
    assert "English with the import" not in page
    assert "cannot be corrected here" not in page
    assert "language_given" not in client.get(f"/p/quality/jobs/{job.pk}/").content.decode().lower()


def test_dialogues_that_were_there_got_no_language(imported: Import) -> None:
    imported(MIXED)
    assert imported(MIXED + chats("d"), language="en").result["language_given"] == 1


def test_the_language_of_the_project_is_offered_first(client: Client, mara: User, quality: Project) -> None:
    Project.objects.update(language="zh")
    job = imported_into(quality, MIXED)
    client.force_login(mara)
    for address, first in (("", ""), (f"{job.pk}/", "zh")):
        page = client.get(f"/p/quality/imports/{address}").content.decode()
        options = page.partition('id="id_language"')[2].partition("</select>")[0]
        values = re.findall('<option value="([^"]*)"', options)
        assert values[0] == first
        assert values.index("zh") < values.index("en")


def test_the_preview_counts_languages(client: Client, mara: User, quality: Project) -> None:
    shown = preview_dialogue("messages", MIXED.encode(), is_whole=True)
    assert shown.languages == {"": 2, "zh-Hans": 1}
    client.force_login(mara)
    address = "/p/quality/imports/look/?name=a.jsonl&format=messages&language="
    for language, words in (("", "no language: 2"), ("en", "no language, so English: 2")):
        answer = client.post(address + language, MIXED, content_type="application/octet-stream")
        page = " ".join(answer.content.decode().split())
        assert words in page
        assert "<bdi>中文 (zh-Hans)</bdi> 1" in page


@pytest.mark.parametrize(
    ("count", "language", "words"),
    [
        (1, "", "The first dialogue names no language."),
        (1, "en", "The first dialogue names no language: it gets English."),
        (2, "", "None of the first 2 dialogues names its language."),
        (2, "en", "None of the first 2 dialogues names its language: they get English."),
    ],
)
def test_the_preview_says_that_no_dialogue_names_its_language(
    client: Client, mara: User, quality: Project, count: int, language: str, words: str
) -> None:
    client.force_login(mara)
    address = f"/p/quality/imports/look/?name=a.jsonl&format=messages&language={language}&size="
    data = chats(*"ab"[:count])
    answer = client.post(f"{address}{len(data)}", data, content_type="application/octet-stream")
    assert words in " ".join(answer.content.decode().split())


def test_the_form_takes_a_language(client: Client, mara: User, quality: Project) -> None:
    client.force_login(mara)
    file = SimpleUploadedFile("a.jsonl", MIXED.encode())
    sent = {"id": uuid4(), "format": "guess", "on_error": "skip", "language": "en", "file": file}
    answer = client.post("/p/quality/imports/", sent)
    assert answer.status_code == 302
    job = Job.objects.get(kind="import")
    run_job(job_id=job.pk)
    assert languages() == ["en", "en", "zh-Hans"]
    assert json.dumps(job.parameters).count('"language": "en"') == 1
