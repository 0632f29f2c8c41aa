"""Questions are written in the page: by keyboard in the form, as text, always with the preview beside."""

import re
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.labelling.models.labels import Schema
from annotation.labelling.schema.reading import read_schema
from annotation.labelling.services.schemas import save_schema
from projects.models import Project
from tests.browser.conftest import SignedIn
from tests.browser.labelling import planned
from tests.sizes import LOOKS


@pytest.fixture
def helpdesk(mara: User) -> Project:
    return planned("diqad", mara, count=1)


def opened(page: Page, project: Project) -> Page:
    page.goto(f"/p/{project.slug}/schema/")
    page.wait_for_selector("html[data-ready]")
    return page


def newest(project: Project) -> Schema:
    return Schema.objects.filter(project=project).latest("version")


def use_text(page: Page) -> None:
    page.get_by_text("Text (YAML)").click()


def test_a_project_without_questions_says_how_to_begin(
    signs_in: SignedIn, mara: User, helpdesk: Project
) -> None:
    Schema.objects.all().delete()
    page = opened(signs_in(mara), helpdesk)
    title = page.locator("#problems-title")
    expect(title).to_have_text("No questions yet: add the first one, or start from a preset.")
    expect(title).not_to_have_class(re.compile("is-bad"))
    expect(page.locator("#problems .problem")).to_have_count(0)
    page.keyboard.press("Alt+n")
    expect(title).to_have_text("No problems.")
    page.locator("#yaml").evaluate(
        "yaml => { yaml.value = 'questions: ['; yaml.dispatchEvent(new Event('input')); }"
    )
    expect(title).to_have_text("1 problem")
    expect(title).to_have_class(re.compile("is-bad"))


def test_mara_adds_a_question_by_keyboard_mends_the_text_and_saves(
    signs_in: SignedIn, mara: User, helpdesk: Project
) -> None:
    page = opened(signs_in(mara), helpdesk)
    preview = page.locator("#questions > section")
    expect(preview).to_have_count(4)
    page.keyboard.press("Alt+n")
    page.keyboard.type("Is it kind?")
    page.keyboard.press("Tab")
    page.keyboard.type("友善吗？")
    expect(preview).to_have_count(5)
    expect(preview.last).to_contain_text("Is it kind?")
    page.locator("#try-language").get_by_text("中文").click()
    expect(preview.last).to_contain_text("友善吗？")

    use_text(page)
    good = page.locator("#yaml").input_value()
    page.locator("#yaml").fill(good.replace("kind: choice", "kind: chioce", 1))
    problem = page.locator("#problems .problem").first
    line = good[: good.index("kind: choice")].count("\n") + 1
    expect(problem).to_contain_text(f"Line {line}")
    expect(problem).to_contain_text("choices")  # the remedy names what there is
    expect(page.locator("#save")).to_be_disabled()
    expect(preview).to_have_count(5)  # what was right last stays
    problem.click()
    at = page.evaluate("document.getElementById('yaml').selectionStart")
    assert good[:at].count("\n") + 1 == line

    page.locator("#yaml").fill(good)
    expect(page.locator("#save")).to_be_enabled()
    page.keyboard.press("Control+s")
    expect(page.locator("#save")).to_have_text("No changes")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert read_schema(newest(helpdesk).content).questions[-1].text.zh == "友善吗？"
    expect(page.locator("#yaml")).to_have_value(re.compile("Is it kind"))


def test_removing_moving_and_presets_can_be_undone(signs_in: SignedIn, mara: User, helpdesk: Project) -> None:
    page = opened(signs_in(mara), helpdesk)
    questions = page.locator(".question-form")
    first = questions.first.locator("summary").first
    first.focus()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator(".question-form > details > summary").nth(1)).to_be_focused()
    expect(questions.nth(1)).to_contain_text("Must the information")
    questions.nth(1).locator("summary").first.press("Enter")
    questions.nth(1).get_by_role("button", name="Remove", exact=True).click()
    expect(questions).to_have_count(3)
    page.locator("#undo").click()
    expect(questions).to_have_count(4)
    page.locator("#preset").select_option("dch")
    expect(questions).to_have_count(6)
    page.locator("[data-cause=preset]").get_by_role("button").click()
    expect(questions).to_have_count(4)


def test_another_kind_takes_away_what_it_cannot_have(
    signs_in: SignedIn, mara: User, helpdesk: Project
) -> None:
    page = opened(signs_in(mara), helpdesk)
    assert "alone: true" in page.locator("#yaml").input_value()
    for question in ("Choose the reasons why you score 1.", "Choose the reasons why you score 0."):
        form = page.locator(".question-form", has_text=question)
        form.locator("summary").first.click()
        form.locator("select[data-path$='.kind']").select_option("choice")
    expect(page.locator("#yaml")).not_to_have_value(re.compile("alone"))
    expect(page.locator("#problems-title")).to_have_text("No problems.")


def test_unsaved_questions_come_back(signs_in: SignedIn, mara: User, helpdesk: Project) -> None:
    page = opened(signs_in(mara), helpdesk)
    page.on("dialog", lambda dialog: dialog.accept())
    use_text(page)
    page.locator("#yaml").fill("questions:\n- key: [")
    expect(page.locator("#problems .problem")).to_have_count(1)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#yaml")).to_have_value("questions:\n- key: [")
    page.get_by_role("button", name="Back to the saved questions").click()
    expect(page.locator("#save")).to_have_text("No changes")


def test_the_second_of_two_people_gets_a_notice_and_keeps_the_text(
    signs_in: SignedIn, mara: User, helpdesk: Project
) -> None:
    page = opened(signs_in(mara), helpdesk)
    use_text(page)
    mine = page.locator("#yaml").input_value().replace("Rate the quality", "Judge the quality")
    page.locator("#yaml").fill(mine)
    expect(page.locator("#save")).to_be_enabled()
    content = {"questions": newest(helpdesk).content["questions"][:2]}
    with_other = User.objects.create(username="otto", email="otto@example.org")
    save_schema(project=helpdesk, actor=with_other, content=content, save_id=uuid4())
    page.locator("#save").click()
    notice = page.locator("[data-cause=newer]")
    expect(notice).to_contain_text("otto")
    expect(page.locator("#yaml")).to_have_value(mine)
    notice.get_by_role("button", name="Keep mine").click()
    expect(page.locator("#save")).to_be_enabled()
    page.locator("#save").click()
    expect(page.locator("#save")).to_have_text("No changes")
    assert "Judge" in newest(helpdesk).content["questions"][1]["text"]["en"]


@pytest.mark.soak
@pytest.mark.parametrize(("width", "language", "theme"), LOOKS)
def test_the_page_fits_and_breaks_no_rule_of_access(
    signs_in: SignedIn, mara: User, helpdesk: Project, width: int, language: str, theme: str
) -> None:
    User.objects.filter(pk=mara.pk).update(language=language)
    mara.refresh_from_db()
    page = signs_in(mara, viewport={"width": width, "height": 900}, color_scheme=theme)
    opened(page, helpdesk)
    page.locator(".question-form summary").first.click()
    for way in page.locator("#way label").all():
        way.click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        report = Axe().run(page)
        assert report.violations_count == 0, report.generate_report()
    page.goto(f"/p/{helpdesk.slug}/schema/1/")
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()
