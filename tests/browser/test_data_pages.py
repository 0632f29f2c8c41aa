"""Bringing data in and taking it out, in a browser, with a worker that does it."""

import hashlib
import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from accounts.models import User
from dialogues.models import Dialogue, Utterance
from projects.models import Project
from tests.browser.conftest import ROUTED, SignedIn
from tests.dialogues.reading import workbook
from tests.processes import PATIENCE

ROWS = [
    {"conversation": [{"utterance": "你好 <b>hi</b>"}, {"utterance": "Hello", "response_candidates": ["Hello", "Hm"]}]},
    {"conversation": [{"utterance": "second"}]},
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two dialogues and a broken line."""
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS) + "{broken\n")
    return path


@pytest.fixture
def page(project: Project, eric: User, signs_in: SignedIn) -> Page:
    page = signs_in(eric, accept_downloads=True, **ROUTED)
    page.goto(f"/p/{project.slug}/imports/")
    return page


def test_a_file_is_looked_into_sent_and_its_refused_row_named(page: Page, file: Path) -> None:
    page.set_input_files("[name=file]", file)
    expect(page.locator("#import-preview")).to_contain_text("This looks like diamante")
    expect(page.locator("#import-preview li").first).to_contain_text("你好 <b>hi</b>")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Imported, except for the rows below.")).to_be_visible()
    expect(page.locator(".figures")).to_contain_text("2")
    expect(page.locator(".refused tbody tr")).to_have_count(1)
    expect(page.locator(".refused tbody td").first).to_have_text("3")
    with page.expect_download() as table:
        page.get_by_role("link", name="All as CSV").click()
    assert "a double quotation mark is missing before “broken”" in table.value.path().read_text()
    page.get_by_role("link", name="See the dialogues").click()
    expect(page.locator(".opening")).to_have_count(2)


def test_refused_rows_fit_a_phone_in_chinese(page: Page, file: Path, eric: User) -> None:
    page.set_input_files("[name=file]", file)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".refused tbody tr")).to_have_count(1)
    eric.language = "zh-hans"
    eric.save()
    page.set_viewport_size({"width": 390, "height": 740})
    page.reload()
    rows = page.locator(".table-wrap:has(> .refused)")
    expect(rows).to_contain_text("英文双引号")
    assert rows.evaluate("rows => rows.scrollWidth <= rows.clientWidth")


def test_an_excel_file_is_previewed_and_imported(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "talks.xlsx"
    said = [["d1", "A", "Hello?"], ["d1", "B", "你好"], ["d2", "A", "Is anybody there?"]]
    path.write_bytes(workbook(["dialogue_id", "speaker", "text"], *said))
    page.set_input_files("[name=file]", path)
    expect(page.locator("#import-preview")).to_contain_text("This looks like xlsx")
    turns = page.locator("#import-preview li")
    expect(turns).to_have_text([re.compile("A.*Hello?", re.DOTALL), re.compile("B.*你好", re.DOTALL)])
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Every row was imported.")).to_be_visible()
    rows = Utterance.objects.order_by("dialogue__external_id", "position")
    assert [list(row) for row in rows.values_list("dialogue__external_id", "speaker", "text")] == said


def test_another_format_says_at_once_what_would_be_wrong(page: Page, file: Path) -> None:
    page.set_input_files("[name=file]", file)
    page.select_option("[name=format]", "csv")
    expect(page.locator("#import-preview .alert")).to_contain_text("dialogue_id")


def test_a_refused_preview_keeps_import_disabled_until_the_file_can_be_read(page: Page, file: Path) -> None:
    button = page.get_by_role("button", name="Import")
    page.set_input_files("[name=file]", file)
    expect(page.locator("#import-preview li").first).to_be_visible()
    page.select_option("[name=format]", "csv")
    expect(button).to_be_disabled()
    page.select_option("[name=format]", "guess")
    expect(button).to_be_enabled()


def test_the_keys_of_a_json_file_are_chosen_on_the_page(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "film.json"
    path.write_text(json.dumps([{"lines": [{"who": "Ann", "said": "Hi", "note": "first"}]}] * 4, indent=1))
    page.set_input_files("[name=file]", path)
    turns = page.locator("#import-preview li")
    expect(turns).to_have_text(re.compile("Ann.*Hi", re.DOTALL))
    page.get_by_label("Utterances", exact=True).fill("rows")
    page.get_by_label("Utterances", exact=True).press("Tab")
    expect(page.get_by_role("button", name="Import")).to_be_disabled()
    page.get_by_label("Utterances", exact=True).fill("lines")
    page.get_by_label("Speaker", exact=True).fill("")
    page.get_by_label("Text", exact=True).fill("note")
    page.get_by_label("Text", exact=True).press("Tab")
    expect(turns).to_have_text(re.compile("A.*first", re.DOTALL))
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Every row was imported.")).to_be_visible()
    assert Dialogue.objects.count() == 4


def test_a_preview_that_arrives_while_a_key_is_typed_or_selected_changes_neither(
    page: Page, tmp_path: Path
) -> None:
    held: list[Route] = []
    path = tmp_path / "film.json"
    path.write_text(json.dumps([{"lines": [{"who": "Ann", "said": "Hi", "note": "first"}]}] * 4, indent=1))
    page.set_input_files("[name=file]", path)
    turns = page.locator("#import-preview li")
    expect(turns).to_have_text(re.compile("Ann.*Hi", re.DOTALL))
    speaker, text = page.get_by_label("Speaker", exact=True), page.get_by_label("Text", exact=True)

    def answer_held() -> None:
        until = time.monotonic() + 15 * PATIENCE
        while not held:
            assert time.monotonic() < until
            page.wait_for_timeout(10)
        with page.expect_response(re.compile("map_speaker=&")):
            held.pop().continue_()

    page.route(re.compile("/look/.*map_speaker=&"), lambda route: held.append(route))
    speaker.fill("")
    text.select_text()
    answer_held()
    expect(turns).to_have_text(re.compile("^A .*Hi", re.DOTALL))
    page.keyboard.type("who")
    expect(text).to_have_value("who")  # the selection was kept, so typing replaces it

    speaker.focus()
    speaker.press("x")
    answer_held()
    page.wait_for_timeout(100)
    expect(speaker).to_have_value("x")
    expect(turns).to_have_text(re.compile("^A .*Hi", re.DOTALL))
    speaker.press("Backspace")
    text.focus()  # no value has changed, but the last preview was dropped
    answer_held()
    expect(turns).to_have_text(re.compile("^A .*Ann", re.DOTALL))


def test_a_late_answer_about_another_format_is_not_shown(page: Page, file: Path) -> None:
    held: list[Route] = []
    page.route(re.compile("/look/.*format=guess"), lambda route: held.append(route))
    page.set_input_files("[name=file]", file)
    page.select_option("[name=format]", "csv")
    expect(page.locator("#import-preview .alert")).to_contain_text("dialogue_id")
    with page.expect_response(lambda answer: "format=guess" in answer.url):
        held[0].continue_()
    page.wait_for_timeout(100)
    expect(page.locator("#import-preview .alert")).to_contain_text("dialogue_id")


def test_too_large_a_file_is_not_even_sent(page: Page, file: Path) -> None:
    page.eval_on_selector("#import", "form => { form.dataset.maxBytes = 10 }")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.set_input_files("[name=file]", file)
    expect(page.locator("[data-problem]")).to_contain_text("This file is larger than")
    page.get_by_role("button", name="Import").click()
    assert "POST" not in sent


def test_a_refusal_is_shown_beside_the_button(page: Page, project: Project, file: Path) -> None:
    Project.objects.filter(pk=project.pk).update(archived_at="2026-01-01T00:00Z")
    page.set_input_files("[name=file]", file)
    page.get_by_role("button", name="Import").click()
    expect(page.locator("[data-problem]")).to_contain_text("This project is archived.")
    expect(page.get_by_role("button", name="Import")).to_be_enabled()


def test_without_a_connection_nothing_is_lost(page: Page, file: Path) -> None:
    page.set_input_files("[name=file]", file)
    page.context.set_offline(True)
    page.get_by_role("button", name="Import").click()
    expect(page.locator("[data-problem]")).to_contain_text("The server could not be reached")
    page.context.set_offline(False)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Imported, except for the rows below.")).to_be_visible()
    assert Dialogue.objects.count() == 2


def test_an_upload_says_that_the_whole_server_is_unreachable(page: Page, file: Path) -> None:
    page.set_input_files("[name=file]", file)
    expect(page.locator("#import-preview li").first).to_be_visible()
    page.route("**/*", lambda route: route.abort())
    page.get_by_role("button", name="Import").click()
    expect(page.locator("[data-problem]")).to_contain_text("The server could not be reached")
    expect(page.get_by_role("button", name="Import")).to_be_enabled()


def test_an_export_says_what_leaves_runs_and_is_downloaded(page: Page, project: Project, file: Path) -> None:
    page.set_input_files("[name=file]", file)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Imported, except for the rows below.")).to_be_visible()
    page.goto(f"/p/{project.slug}/exports/")
    expect(page.locator(".leaving strong")).to_have_text("0")
    page.check("[name=include_unreviewed]")
    expect(page.locator(".leaving strong")).to_have_text("2")
    page.check("[value=sft]")
    expect(page.locator("#command")).to_contain_text("--format sft")
    assert "csrfmiddlewaretoken" not in page.evaluate(
        "performance.getEntriesByType('resource').map(one => one.name).join()"
    )
    page.keyboard.press("Control+Enter")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    data = download.value.path().read_bytes()
    assert hashlib.sha256(data).hexdigest() in page.content()
    assert [json.loads(line)["completion"][0]["content"] for line in data.splitlines()] == ["Hello"]


def test_the_command_is_copied(page: Page, project: Project) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/p/{project.slug}/exports/")
    page.get_by_role("button", name="Copy the command").click()
    expect(page.locator(".toast")).to_contain_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"python manage.py export_dataset {project.slug} \\\n")


def test_everything_works_without_scripts(
    project: Project, eric: User, signs_in: SignedIn, file: Path
) -> None:
    page = signs_in(eric, java_script_enabled=False)
    page.goto(f"/p/{project.slug}/imports/")
    page.set_input_files("[name=file]", file)
    page.get_by_role("button", name="Import").click()
    expect(page).to_have_url(re.compile(r"/imports/[0-9a-f-]{36}/$"))
    done = page.get_by_text("Imported, except for the rows below.")
    until = time.monotonic() + 15 * PATIENCE
    while not done.is_visible() and time.monotonic() < until:
        page.wait_for_timeout(300)
        page.reload()
    expect(done).to_be_visible()
    page.goto(f"/p/{project.slug}/exports/")
    page.check("[name=include_unreviewed]")
    page.get_by_role("button", name="Start the export").click()
    expect(page).to_have_url(re.compile(r"/exports/[0-9a-f-]{36}/$"))


def test_a_dialogue_opens_what_it_was_chosen_among(page: Page, project: Project, file: Path) -> None:
    page.set_input_files("[name=file]", file)
    page.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="See the dialogues").click()
    page.get_by_role("link", name="你好 <b>hi</b>").click()
    candidate = page.locator(".shown-candidates li").nth(1)
    expect(candidate).to_be_hidden()
    page.get_by_text("2 candidates").click()
    expect(candidate).to_have_text("Hm")
    page.keyboard.press("u")
    expect(page).to_have_url(re.compile(r"/dialogues/$"))
