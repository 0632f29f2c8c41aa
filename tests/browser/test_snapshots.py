"""Freezing dialogues in a browser, with a worker that does it; the card in both languages."""

import hashlib
import json
import re
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from accounts.models import User
from dialogues.models import CandidateSet, Dialogue, Split, Utterance
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from preference.data.services.snapshots import take_snapshot
from projects.models import Project
from tests.browser.conftest import SignedIn

WIDTHS = (360, 1280, 2560)


@pytest.fixture
def dialogues(project: Project) -> list[Dialogue]:
    """Three passed dialogues, the replies of which were selected or rewritten among two candidates."""
    dialogues = []
    for number in range(3):
        dialogue = Dialogue.objects.create(
            project=project, origin="authored", state="finished", review_state="passed", split=Split.TRAIN,
            utterance_count=3, domain="宠物",
        )  # fmt: skip
        for position, text in enumerate(["我家猫掉毛", f"one {number}", "my own words"]):
            candidate_set = None
            if position:
                texts = [{"text": f"one {number}"}, {"text": "two <b>"}]
                candidate_set = CandidateSet.objects.create(
                    dialogue=dialogue, position=position, candidates=texts, model_version="demo@1"
                )
            action = ["", "select", "rewrite"][position]
            Utterance.objects.create(
                dialogue=dialogue, position=position, speaker="AB"[position % 2], text=text,
                candidate_set=candidate_set, action=action, source=0 if action == "select" else None,
                edit_distance=0 if action == "select" else None,
            )  # fmt: skip
        dialogues.append(dialogue)
    return dialogues


@pytest.fixture
def page(project: Project, eric: User, signs_in: SignedIn) -> Page:
    page = signs_in(eric, accept_downloads=True)
    page.goto(f"/p/{project.slug}/snapshots/")
    return page


def test_a_snapshot_is_taken_read_downloaded_and_exported_from(
    dialogues: list[Dialogue], project: Project, page: Page
) -> None:
    page.reload()
    expect(page.locator(".leaving strong")).to_have_text("3")
    expect(page.locator("#preview")).to_contain_text("The split “Test” is empty.")
    page.uncheck("[value=test]")
    page.uncheck("[value=valid]")
    expect(page.locator("#command")).to_contain_text("--splits train")
    expect(page.locator("#preview")).not_to_contain_text("is empty")
    page.fill("[name=name]", "五月 May")
    page.keyboard.press("Control+Enter")
    expect(page.locator("h1")).to_contain_text("五月 May")
    expect(page.get_by_text("Frozen,")).to_be_visible()
    table = page.get_by_role("group", name="What is in it?")
    expect(table.locator("tbody tr").first).to_contain_text("3")
    with page.expect_download() as download:
        page.get_by_role("link", name="dialogues.jsonl").click()
    data = download.value.path().read_bytes()
    assert hashlib.sha256(data).hexdigest() in page.content()
    assert [json.loads(line)["dialogue_id"] for line in data.splitlines()] == [
        dialogue.external_id for dialogue in dialogues
    ]
    page.get_by_role("link", name="preference", exact=True).click()
    expect(page.locator("[name=snapshot] option:checked")).to_have_text("五月 May")
    expect(page.locator("[value=preference]")).to_be_checked()
    page.select_option("[name=file_type]", "parquet")
    expect(page.locator("#command")).to_contain_text("--file-type parquet")
    expect(page.locator("#command")).to_contain_text(f"--snapshot {Snapshot.objects.get().pk}")
    page.get_by_role("button", name="Start the export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename.endswith(".parquet")


def test_its_files_are_removed_and_the_card_stays(
    dialogues: list[Dialogue], project: Project, eric: User, page: Page
) -> None:
    page.reload()
    page.get_by_role("button", name="Take the snapshot").click()
    page.get_by_role("button", name=re.compile("Remove the files, free")).click()
    expect(page.get_by_text("The files were removed. The card says what was in them.")).to_be_visible()
    expect(page.get_by_role("heading", name="What is in it?")).to_be_visible()


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("zh-hans", "dark")])
def test_its_pages_read_well_in_both_languages(
    dialogues: list[Dialogue], project: Project, eric: User, signs_in: SignedIn, language: str, theme: str
) -> None:
    eric.language, eric.theme = language, theme
    eric.save()
    snapshot = take_snapshot(
        snapshot_id=uuid4(), project=project, actor=eric, name="A long name of a snapshot " * 4
    )
    run_job(job_id=snapshot.job_id)
    page = signs_in(eric)
    for path in ("snapshots/", f"snapshots/{snapshot.pk}/", f"exports/?snapshot={snapshot.pk}"):
        page.goto(f"/p/{project.slug}/{path}")
        result = Axe().run(page)
        assert not result.violations_count, f"{path}\n{result.generate_report()}"
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1, (path, width)
