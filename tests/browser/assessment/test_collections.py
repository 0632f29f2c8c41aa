"""A manager compares systems on collected dialogues, from the empty list to the report, beside a real worker."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.collections.models import CollectedDialogue
from projects.models import Project, Role
from tests.assessment.collections.raters import rate_everything
from tests.assessment.talk import import_dialogues, openai_system
from tests.browser.assessment.taking_part import Visitor, prepare
from tests.browser.conftest import SignedIn
from tests.conftest import Joins


@pytest.fixture
def rating(mara: User) -> Project:
    return create_project(slug="rating", preset="diamante-evaluation", actor=mara, title="Rate replies")


@pytest.fixture
def raters(rating: Project, joins: Joins) -> list[User]:
    return [joins(name, rating, Role.ANNOTATOR) for name in ("rhea", "ron", "ruth")]


def is_accessible(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def is_made(page: Page) -> None:
    """The page shows the end of the job by itself."""
    expect(page.locator(".job .badge")).to_contain_text("Done")
    expect(page.get_by_role("heading", name="Nobody has rated yet")).to_be_visible()


def test_systems_are_compared_on_the_same_contexts(
    study: Project, rating: Project, raters: list[User], mara: User, signs_in: SignedIn, server: str
) -> None:
    import_dialogues(study)
    study.assessment.reply_retries = 1
    study.assessment.save()
    openai_system(study, server, "good")
    openai_system(study, server, "dies")
    page = signs_in(mara)
    page.goto("/p/study/collections/")
    is_accessible(page)
    page.get_by_role("link", name="New collection").click()
    for system in ("good", "dies"):
        page.get_by_label(system).check()
    page.get_by_label("Source").select_option(label="Study")
    page.get_by_label("Contexts").fill("6")
    is_accessible(page)
    page.keyboard.press("Control+Enter")
    is_made(page)
    expect(page.locator("#missing tbody tr")).to_have_count(6)
    is_accessible(page)
    rate_everything(rating, raters, lambda rater, system: (2, 2) if system else (1, 1))
    page.reload()
    expect(
        page.get_by_text(re.compile("Engagingness: “good” is better than the human reply"))
    ).to_be_visible()
    expect(page.locator("#better-than-human tbody tr")).to_have_count(24)
    expect(page.locator("#by-engagingness svg").first).to_be_visible()
    is_accessible(page)
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_conversations_of_participants_and_members_reach_the_raters(
    study: Project, rating: Project, raters: list[User], mara: User, signs_in: SignedIn, server: str
) -> None:
    """Ann comes by the panel's link; mara takes part as a member."""
    prepare(study, server, "good")
    ann = Visitor.come(signs_in)
    ann.agree()
    ann.converse()
    ann.converse()
    page = signs_in(mara, viewport={"width": 1280, "height": 800})
    page.goto("/p/study/take-part/")
    page.get_by_role("button", name="Take part").click()
    maras = Visitor(page, page.url)
    maras.agree()
    maras.converse()
    maras.converse()
    expect(page.locator("#feedback")).to_be_focused()  # or the page would go there while the next one loads
    page.goto("/p/study/collections/new/human_bot/")
    page.get_by_label("Raters").select_option(label="Rate replies")
    page.keyboard.press("Control+Enter")
    is_made(page)
    rows = CollectedDialogue.objects.select_related("system", "dialogue", "draft")
    assert [row.system.name for row in rows if row.system] == ["good", "good"]
    for row in rows:
        assert row.draft is not None
        assert row.dialogue is not None
        said = [list(each.utterances.values_list("text", flat=True)) for each in (row.draft, row.dialogue)]
        assert said[0] == said[1]
        assert said[0][0] == "Message 0"
    assert rate_everything(rating, raters, lambda *_: (2, 1)) == 6
    page.reload()
    expect(page.locator("#scores")).to_contain_text("good")
