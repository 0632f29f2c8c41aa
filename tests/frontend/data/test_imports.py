"""Sending a file, following its import, reading what was refused."""

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from string import ascii_letters
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from openpyxl import Workbook
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from dialogues.models import Dialogue
from dialogues.parsing.formats import FORMATS
from frontend.pages.data.import_preview import WHOLE_BYTES
from jobs.folders import MARKER
from jobs.models import Job, JobState
from jobs.services import record_heartbeat, run_job
from projects.models import Project
from tests.dialogues.reading import example_file
from tests.disks import files_up_to
from tests.frontend.data_pages import erics_browser, files_root, html, imported, spoken

__all__ = ["erics_browser", "files_root"]
BROKEN = '{"conversation": [{"utterance": 3}]}\n{broken\n'
Send = Callable[..., Any]


@pytest.fixture
def send(erics_browser: Client, project: Project) -> Send:
    """send(data, **fields) sends the form as a browser does."""

    def send(
        data: str | bytes, /, name: str = "chats.jsonl", accept: str = "text/html", **fields: Any
    ) -> Any:
        raw = data.encode() if isinstance(data, str) else data
        form = {"id": uuid4(), "format": "guess", "on_error": "skip", "file": SimpleUploadedFile(name, raw)}
        address = reverse("imports", args=[project.slug])
        headers = {"Accept": accept, "Referer": f"http://testserver{address}"}
        return erics_browser.post(address, form | fields, headers=headers)

    return send


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("format", [name for name, each in FORMATS.items() if not each.protocol])
def test_a_file_is_sent_its_format_guessed_and_its_dialogues_stored(send: Send, format: str) -> None:
    answer = send(example_file(FORMATS[format]), name=f"x.{FORMATS[format].extension}")
    job = Job.objects.get()
    assert (answer.status_code, answer.url) == (302, reverse("import", args=["chit-chat", job.pk]))
    assert job.parameters["format"] == format
    assert run_job(job_id=job.pk).result["stored"] == Dialogue.objects.count() > 0


def test_a_script_gets_the_address_to_open(send: Send) -> None:
    answer = send(lines(spoken("a")), accept="application/json")
    assert answer.status_code == 202
    assert answer.json()["url"] == reverse("import", args=["chit-chat", Job.objects.get().pk])


def test_the_same_form_twice_is_one_import(send: Send) -> None:
    submission = uuid4()
    for _twice in range(2):
        send(lines(spoken("a")), id=submission)
    assert Job.objects.get().pk == submission


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_an_empty_file_is_refused_with_a_remedy(send: Send, erics_browser: Client, accept: str) -> None:
    answer = send("", accept=accept)
    if accept == "application/json":
        assert (answer.status_code, answer.json()["detail"]) == (400, "The file is empty.")
    else:
        assert "The file is empty." in html(erics_browser.get(answer.url))
    assert not Job.objects.exists()


def test_a_form_without_a_file_says_so_where_the_field_is(erics_browser: Client, project: Project) -> None:
    answer = erics_browser.post(reverse("imports", args=[project.slug]), {"id": uuid4(), "format": "guess"})
    assert answer.status_code == 400
    assert 'id="id_file_error"' in html(answer) or "errorlist" in html(answer)


def test_too_large_a_file_is_refused_with_a_remedy(send: Send, settings: Settings, files_root: Path) -> None:
    settings.IMPORT_MAX_BYTES = 1024**2
    answer = send("x" * 2 * 1024**2, accept="application/json")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    answer = send("x" * 2 * 1024**2)
    assert answer.status_code == 413
    assert "larger than 1 MB" in html(answer)
    assert not files_root.exists() or list(files_root.rglob("*.part")) == []


def test_a_full_disk_is_reported_with_a_remedy(send: Send, files_root: Path) -> None:
    with files_up_to(1024**2):
        answer = send("x" * 4 * 1024**2, accept="application/json")
    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
    assert [path for path in files_root.rglob("*") if path.is_file() and path.name != MARKER] == []


def test_a_form_from_elsewhere_is_refused(eric: User, project: Project) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(eric)
    file = SimpleUploadedFile("x", b"x")
    answer = strict.post(
        reverse("imports", args=[project.slug]), {"id": uuid4(), "file": file, "format": "eou"}
    )
    assert (answer.status_code, Job.objects.count()) == (403, 0)


def test_an_archived_project_takes_no_file(send: Send, erics_browser: Client, project: Project) -> None:
    Project.objects.update(archived_at=timezone.now())
    answer = send(lines(spoken("a")), accept="application/json")
    assert (answer.status_code, answer.json()["code"]) == (409, "archived")
    assert "takes no dialogues" in html(erics_browser.get(reverse("imports", args=[project.slug])))


# --- a look before sending ---


def look(browser: Client, project: Project, head: bytes, **query: Any) -> str:
    address = reverse("import_preview", args=[project.slug])
    size = query.pop("size", len(head))
    query_string = "&".join(f"{name}={value}" for name, value in {"name": "x", "size": size, **query}.items())
    return html(browser.post(f"{address}?{query_string}", head, content_type="application/octet-stream"))


def test_a_look_shows_the_format_and_the_first_dialogue(erics_browser: Client, project: Project) -> None:
    page = look(erics_browser, project, lines(spoken("<b>Hi</b>", "Ho"), spoken("second")).encode())
    assert 'data-format="diamante"' in page
    assert "&lt;b&gt;Hi&lt;/b&gt;" in page
    assert ("Ho" in page, "second" in page) == (True, False)


def test_a_preview_reports_what_is_wrong_with_the_first_row(erics_browser: Client, project: Project) -> None:
    page = look(erics_browser, project, b"PK\x03\x04rest")
    assert "The end of this Excel file is missing." in page
    page = look(erics_browser, project, b"dialogue_id,speaker\n", format="csv")
    assert "these are missing: text" in page


def test_a_preview_of_an_empty_file_is_not_an_error(erics_browser: Client, project: Project) -> None:
    assert "The file is empty." in look(erics_browser, project, b"")
    assert look(erics_browser, project, b"\xff" * 70_000, size=10**9, format="word")


def test_a_preview_offers_the_keys_of_a_json_file(erics_browser: Client, project: Project) -> None:
    head = json.dumps([{"turns": [{"by": "Ann", "said": "Hi", "note": "x"}]}] * 3).encode()
    page = look(erics_browser, project, head)
    assert 'data-format="json" data-refused=""' in page
    values = dict(re.findall(r'name="map_(\w+)" value="([^"]*)"', page))
    assert values["utterances"] == "turns"
    assert (values["text"], values["speaker"], values["dialogues"]) == ("said", "", "")
    page = look(erics_browser, project, head, map_utterances="turns", map_speaker="by", map_text="note")
    assert page.index("Ann") < page.index(">x<")
    page = look(erics_browser, project, head, map_utterances="turns", map_text="none")
    assert 'data-refused="all"' in page
    assert "Nothing can be imported until the keys below fit." in page
    assert "cannot be read as a path" in look(erics_browser, project, head, map_parent="p")


@pytest.mark.parametrize("content", [b"[]", b'[["\xe4\xbd"]]', '[["你好"]]'.encode("gbk")])
def test_a_preview_asks_for_no_keys_where_none_can_help(
    content: bytes, erics_browser: Client, project: Project
) -> None:
    page = look(erics_browser, project, content, name="x.json")
    assert 'data-refused="all"' in page
    assert "Nothing can be imported until another format or file is chosen." in page
    assert "map_text" not in page


def test_a_preview_of_a_cut_file_asks_for_another_file(erics_browser: Client, project: Project) -> None:
    content = json.dumps([{"turns": [{"by": "Ann", "said": "Hi"}]}] * 3).encode()[:-20]
    page = look(erics_browser, project, content, name="x.json")
    assert "The first dialogue will be:" in page
    assert "Nothing can be imported until another format or file is chosen." in page


def test_a_preview_reads_every_list_or_names_those_that_are_not_read(
    erics_browser: Client, project: Project
) -> None:
    splits = {"valid": [["Hi"]] * 9000, "train": [["Ho"]], "test": [["Hey"]]}
    head = json.dumps(splits).encode()
    page = look(erics_browser, project, head, name="x.json")
    assert 'name="map_dialogues" value="*"' in page
    assert "not read" not in page
    page = look(erics_browser, project, head, name="x.json", map_dialogues="valid")
    assert "The file has other lists, which are not read: train, test." in page
    assert 'data-refused=""' in page


def test_a_path_that_the_file_does_not_have_is_refused_before_the_import(
    erics_browser: Client, project: Project
) -> None:
    head = json.dumps({"valid": [["Hi"]] * 20_000}, indent=0).encode()
    page = look(erics_browser, project, head, name="x.json", map_dialogues="nosuch")
    assert 'data-refused="all"' in page
    assert "The file has nothing at the path nosuch." in page
    assert "Line" not in page
    page = look(erics_browser, project, head, size=10**9, name="x.json", map_dialogues="nosuch")
    assert 'data-refused=""' in page  # the rest of so large a file may have it
    assert "The beginning of the file has nothing at the path nosuch." in page


def test_a_failed_import_names_no_line_for_a_path_that_is_nowhere(send: Send) -> None:
    send(json.dumps({"a": [["x"]]}, indent=1), name="x.json", map_dialogues="nosuch")
    job = run_job(job_id=Job.objects.get().pk)
    assert job.error == "Nothing was imported. The file has nothing at the path nosuch."


def test_the_chosen_keys_are_used(send: Send) -> None:
    send(json.dumps([{"a": ["x"], "b": ["y"]}]), name="x.json", map_utterances="b")
    job = Job.objects.get()
    assert (job.parameters["format"], job.parameters["map"]) == ("json", "utterances=b")
    assert run_job(job_id=job.pk).result["stored"] == 1


def test_a_long_file_without_blank_lines_asks_for_its_format(
    send: Send, erics_browser: Client, project: Project
) -> None:
    page = look(erics_browser, project, b"Hello\n" * 2000)
    assert "It is not clear where a dialogue ends" in page
    assert 'data-refused="all"' in page
    assert 'data-refused="all"' not in look(erics_browser, project, b"Hello\n" * 2000, format="utterances")
    assert send("Hello\n" * 2000, name="x.txt", accept="application/json").status_code == 400


def test_packed_and_excel_files_are_previewed(erics_browser: Client, project: Project) -> None:
    data = gzip.compress(lines(spoken("Hi"), spoken("Ho")).encode())
    assert 'data-format="diamante"' in look(erics_browser, project, data, name="x.gz")
    page = look(erics_browser, project, example_file(FORMATS["xlsx"]))
    assert 'data-format="xlsx" data-refused=""' in page
    assert "Hello, you!" in page


def excel_file(utterances: int, letters: int) -> bytes:
    """Random letters, which do not shrink when packed."""
    book, random = Workbook(), Random(0)
    book.active.append(["dialogue_id", "speaker", "text"])
    for n in range(utterances):
        book.active.append(
            [f"d{n // 2}", "AB"[n % 2], f"{n} " + "".join(random.choices(ascii_letters, k=letters))]
        )
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_an_excel_file_is_previewed_up_to_the_size_of_a_form(erics_browser: Client, project: Project) -> None:
    shown = excel_file(utterances=200, letters=9_000)
    assert 1024**2 < len(shown) < WHOLE_BYTES
    page = look(erics_browser, project, shown, name="talks.xlsx")
    assert "The first dialogue will be:" in page
    assert "too large" not in page
    large = excel_file(utterances=800, letters=9_000)
    assert WHOLE_BYTES < len(large)
    page = look(erics_browser, project, large[:WHOLE_BYTES], name="talks.xlsx", size=len(large))
    assert "It is too large for a preview: an Excel file is shown up to 5.0 MB." in page.replace("\xa0", " ")
    assert 'data-refused=""' in page


# --- the page of an import ---


def page_of(browser: Client, job: Job, query: str = "") -> str:
    return html(browser.get(reverse("import", args=["chit-chat", job.pk]) + query))


def test_a_waiting_import_reports_a_missing_worker(send: Send, erics_browser: Client) -> None:
    send(lines(spoken("a")))
    job = Job.objects.get()
    assert "No worker is running" in page_of(erics_browser, job)
    record_heartbeat(name="w", queues=["default"], details={})
    assert "No worker is running" not in page_of(erics_browser, job)


def test_a_running_import_renews_itself_and_says_what_it_does(send: Send, erics_browser: Client) -> None:
    send(lines(spoken("a")))
    job = Job.objects.get()
    Job.objects.update(state=JobState.RUNNING, started_at=timezone.now(), done=30, total=100, unit="bytes")
    page = page_of(erics_browser, job)
    assert 'hx-trigger="every 1s"' in page
    assert "Nothing is stored yet" in page
    reported = erics_browser.get(f"/api/v1/imports/{job.pk}/").json()
    assert (reported["phase"], reported["done"], reported["total"]) == ("checking", 30, 100)
    Job.objects.update(done=70)
    live = erics_browser.get(reverse("import", args=["chit-chat", job.pk]) + "?part=live")
    assert "What is stored stays" in html(live)
    assert "<html" not in html(live)
    Job.objects.update(state=JobState.DONE)
    live = erics_browser.get(reverse("import", args=["chit-chat", job.pk]) + "?part=live")
    assert live["HX-Refresh"] == "true"


def test_a_done_import_counts_and_lists_what_was_refused(erics_browser: Client, project: Project) -> None:
    job = imported(project, lines(spoken("a"), spoken("b")) + BROKEN * 40)
    page = page_of(erics_browser, job)
    figures = re.findall(r"<dt>([^<]+)</dt><dd[^>]*>([^<]+)</dd>", page)
    assert figures[:4] == [
        ("dialogues stored", "2"),
        ("already there", "0"),
        ("utterances stored", "2"),
        ("rows refused", "80"),
    ]
    assert "conversation[0].utterance must be text, is a number." in page
    assert page.count('<td class="num" data-name="Line">') == 50
    assert page_of(erics_browser, job, "?page=2").count('<td class="num" data-name="Line">') == 30
    assert "1–50 of 80" in page


def test_the_table_of_refused_rows_is_downloaded_whole(erics_browser: Client, project: Project) -> None:
    job = imported(project, lines(spoken("a")) + BROKEN * 40)
    answer = erics_browser.get(reverse("import_errors", args=[project.slug, job.pk]))
    data = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert data.count("\r\n") == 81


def test_the_same_file_again_says_so(erics_browser: Client, project: Project) -> None:
    first = imported(project, lines(spoken("a")))
    second = imported(project, lines(spoken("a")))
    page = page_of(erics_browser, second)
    assert "This file was imported before" in page
    assert reverse("import", args=[project.slug, first.pk]) in page


def test_a_failed_import_says_why_and_what_to_do(erics_browser: Client, project: Project) -> None:
    job = imported(project, BROKEN)
    page = page_of(erics_browser, job)
    assert "Nothing was imported: 2 rows are refused." in page
    assert "check that it is the right format" in page
    assert "Start again" not in page, "its file is gone"


@pytest.mark.parametrize(
    ("data", "format", "cause"),
    [
        (BROKEN, "diamante", "未导入任何内容：有 2 行未通过。"),
        (
            '[{"messages": [{"role": "a", "content": "Hi"}]},\n{broken}]',
            "json",
            "未导入任何内容。第 2 行：",
        ),
        ("\n\n", "diamante", "文件中没有对话。"),
    ],
)
def test_whoever_reads_a_failed_import_reads_its_cause_in_their_language(
    erics_browser: Client, project: Project, data: str, format: str, cause: str
) -> None:
    job = imported(project, data, format)
    assert "Nothing was imported" in job.error or "no dialogue" in job.error
    User.objects.update(language="zh-hans")
    assert cause in page_of(erics_browser, job)
    assert cause in html(erics_browser.get(reverse("imports", args=[project.slug])))


def test_an_import_is_stopped_and_started_again(send: Send, erics_browser: Client) -> None:
    send(lines(spoken("a")))
    job = Job.objects.get()
    erics_browser.post(reverse("import_cancel", args=["chit-chat", job.pk]))
    assert "Start again" in page_of(erics_browser, job)
    erics_browser.post(reverse("import_retry", args=["chit-chat", job.pk]))
    assert run_job(job_id=job.pk).result["stored"] == 1


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_pages_open_in_both_languages(erics_browser: Client, project: Project, language: str) -> None:
    User.objects.update(language=language)
    job = imported(project, lines(spoken("a")) + BROKEN)
    lang = f'<html lang="{"zh-Hans" if language == "zh-hans" else "en"}"'
    assert lang in page_of(erics_browser, job)
    assert lang in html(erics_browser.get(reverse("imports", args=[project.slug])))


def test_the_list_costs_the_same_however_long_it_is(
    erics_browser: Client, project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(8):
        imported(project, lines(spoken(str(number))))
    with django_assert_max_num_queries(11):
        page = html(erics_browser.get(reverse("imports", args=[project.slug])))
    assert page.count("job-title") == 8


def test_every_format_is_shown_with_an_example(erics_browser: Client, project: Project) -> None:
    page = html(erics_browser.get(reverse("imports", args=[project.slug])))
    for name, each in FORMATS.items():
        assert (f'id="format-{name}"' in page) == (each.protocol is None)


def test_a_refused_import_names_the_roles_that_may(client: Client, project: Project, carlos: User) -> None:
    client.force_login(carlos)
    for address in (reverse("imports", args=[project.slug]), reverse("import", args=[project.slug, uuid4()])):
        answer = client.get(address)
        assert answer.status_code == 403
        assert "ML engineer" in html(answer)
    assert client.post(reverse("imports", args=[project.slug]), {}).status_code == 403


def test_an_import_of_another_project_is_not_there(erics_browser: Client, project: Project) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    job = imported(other, lines(spoken("a")))
    assert erics_browser.get(reverse("import", args=[project.slug, job.pk])).status_code == 404


@pytest.mark.parametrize(("of_project", "chosen"), [("zh", "zh"), ("mul", "")])
def test_the_language_of_the_project_is_chosen_already(
    erics_browser: Client, project: Project, of_project: str, chosen: str
) -> None:
    Project.objects.update(language=of_project)
    page = html(erics_browser.get(reverse("imports", args=[project.slug])))
    assert f'<option value="{chosen}" selected>' in page.split('id="id_language"')[1].split("</select>")[0]


def test_an_import_says_which_language_it_set_and_how_long_it_took(send: Send, erics_browser: Client) -> None:
    send(lines(spoken("a")), language="zh")
    job = run_job(job_id=Job.objects.get().pk)
    page = html(erics_browser.get(reverse("import", args=["chit-chat", job.pk])))
    assert "language set to 中文" in page
    assert "unreadable rows skipped" in page
    assert "<dt>Took</dt>" in page
    dialogue = Dialogue.objects.get()
    page = html(erics_browser.get(reverse("dialogue", args=["chit-chat", dialogue.pk])))
    assert ("none; generated from the content" in page, dialogue.external_id in page) == (True, False)
