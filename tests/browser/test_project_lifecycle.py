"""A manager's walk: what was imported is planned for more people, removed, deleted; the project is copied and ends."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.tasks.models.work import Task
from dialogues.models import DeletedDialogue, Dialogue
from projects.models import Project
from tests.browser.conftest import SignedIn
from tests.browser.labelling import labelling_project
from tests.dialogues.reading import messages


@pytest.fixture
def quality(mara: User) -> Project:
    """A project without dialogues, in which two people are to label each."""
    return labelling_project("diqad", mara, slug="quality", overlap=2)


def imports(page: Page, path: Path, *openings: str) -> None:
    path.write_text("".join(messages(opening, "Somebody will know.") for opening in openings))
    page.goto("/p/quality/imports/")
    page.set_input_files("[name=file]", path)
    expect(page.locator("#import-preview li").first).to_contain_text(openings[0])
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Every row was imported.")).to_be_visible()


def wants_three_people(page: Page) -> None:
    """From the import's page to its waiting dialogues, with a look at what changes."""
    page.get_by_role("link", name="People per dialogue").click()
    page.get_by_label("People per dialogue").fill("3")
    page.get_by_role("button", name="Show what it changes").click()
    expect(page.locator("#preview")).to_contain_text("Adds 3 assignments to 3 dialogues.")
    assert set(Task.objects.values_list("overlap", flat=True)) == {2}
    page.get_by_role("button", name="Change them").click()
    expect(page.get_by_text("3 dialogues changed. 3 assignments more.")).to_be_visible()
    assert list(Task.objects.values_list("overlap", flat=True)) == [3, 3, 3]


def undoes_the_import(page: Page) -> None:
    page.get_by_role("link", name="Undo the import").click()
    page.get_by_role("button", name="Remove 2 dialogues").click()
    expect(page.locator("#live .badge")).to_have_text("Done")
    assert Dialogue.objects.count() == Task.objects.count() == 3


def deletes_a_dialogue(page: Page) -> None:
    """What stays of it is a line without its text, and a page that says so."""
    gone = Dialogue.objects.earliest("pk").pk
    page.goto("/p/quality/dialogues/")
    page.get_by_role("link", name="Where is the station?").click()
    page.get_by_role("link", name="Delete this dialogue").click()
    page.get_by_label("Why").fill("Its speaker asked for it.")
    page.get_by_role("button", name=f"Delete dialogue {gone} for good").click()
    expect(page.get_by_text(f"Dialogue {gone} is deleted.")).to_be_visible()
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_have_text(re.compile(f"{gone}.*mara.*Its speaker asked for it.", re.DOTALL))
    expect(page.locator("body")).not_to_contain_text("Where is the station?")
    assert DeletedDialogue.objects.get().dialogue == gone
    assert not Dialogue.objects.filter(pk=gone).exists()
    page.goto(f"/p/quality/dialogues/{gone}/")
    expect(page.locator("main")).to_contain_text(f"Dialogue {gone} was deleted on")


def copies_the_project(page: Page) -> None:
    page.goto("/p/quality/settings/")
    page.get_by_role("link", name="Copy the project").click()
    page.get_by_label("Title").fill("Second round")
    page.get_by_label("Short name").fill("second")
    page.get_by_role("button", name="Create the copy").click()
    expect(page.get_by_text("Copied, without dialogues. You manage the copy.")).to_be_visible()
    source, copy = Project.objects.get(slug="quality"), Project.objects.get(slug="second")
    assert (copy.labelling.overlap, copy.dialogues.count()) == (source.labelling.overlap, 0)
    assert copy.labelling.schema is not None
    assert source.labelling.schema is not None
    assert copy.labelling.schema.content == source.labelling.schema.content


def archives_the_copy(page: Page) -> None:
    """It leaves the list of projects for that of archived ones."""
    page.goto("/p/second/settings/")
    page.get_by_role("button", name="Archive the project…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Nobody can label or begin a dialogue.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Archive the project…").click()
    dialog.get_by_role("button", name="Archive the project").click()
    expect(page.get_by_text("Archived. Nothing is deleted; it can be restored here.")).to_be_visible()
    page.goto("/")
    cards = page.locator("main h2")
    expect(cards).to_have_count(1)
    expect(cards).not_to_have_text("Second round")
    page.get_by_role("link", name="Archived projects").click()
    expect(page.locator("main h2")).to_have_text("Second round")


def restores_it_and_archives_it_again(page: Page) -> None:
    """From the list of archived projects."""
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Restored: it is in everybody's list again.")).to_be_visible()
    assert Project.objects.get(slug="second").archived_at is None
    archives_the_copy(page)


def deletes_the_copy(page: Page) -> None:
    """From the list of archived projects; another name than its own deletes nothing."""
    page.get_by_role("link", name="Second round").click()
    page.get_by_role("link", name="Restore or delete the project").click()
    page.get_by_role("link", name="Delete the project").click()
    name = page.get_by_label("Short name of the project, to confirm")
    button = page.get_by_role("button", name="Delete the project for good")
    name.fill("quality")
    button.click()
    expect(page.locator(".errorlist").first).to_be_visible()
    assert Project.objects.count() == 2
    name.fill("second")
    button.click()
    expect(page.get_by_text("Deleted, with everything in it.")).to_be_visible()
    assert list(Project.objects.values_list("slug", flat=True)) == ["quality"]
    page.get_by_role("link", name="Projects", exact=True).last.click()
    expect(page.get_by_role("link", name="Archived projects")).to_have_count(0)


def test_a_manager_takes_a_project_from_its_first_import_to_its_end(
    quality: Project, mara: User, signs_in: SignedIn, tmp_path: Path
) -> None:
    page = signs_in(mara)
    imports(page, tmp_path / "first.jsonl", "Where is the station?", "When does it open?", "Is it far?")
    wants_three_people(page)
    imports(page, tmp_path / "second.jsonl", "Who lives here?", "What is it called?")
    undoes_the_import(page)
    deletes_a_dialogue(page)
    copies_the_project(page)
    archives_the_copy(page)
    restores_it_and_archives_it_again(page)
    deletes_the_copy(page)
