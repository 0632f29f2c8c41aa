"""From the link to the completion code by keyboard, on a screen of 360 pixels."""

import pytest
from playwright.sync_api import expect

from assessment.sessions.models.conversations import Rating, Session, SessionState, Turn
from assessment.sessions.models.participants import Assignment, AssignmentState
from projects.models import Project
from tests.browser.assessment.taking_part import NARROW, Visitor, prepare
from tests.browser.conftest import SignedIn
from tests.sizes import CHAT_INPUTS

FIVE = ("good-1", "good-2", "good-3", "good-4", "good-5")


def no_wider_than_the_screen(visitor: Visitor) -> bool:
    return bool(visitor.page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"])


@pytest.mark.soak
@pytest.mark.parametrize(
    ("locale", "title", "counter"),
    [
        ("en-US", "Before you begin", f"0 of {CHAT_INPUTS} messages"),
        ("zh-CN", "开始之前", f"已发 0 / {CHAT_INPUTS} 条消息"),
    ],
)
def test_six_conversations_in_both_languages(
    study: Project, server: str, signs_in: SignedIn, locale: str, title: str, counter: str
) -> None:
    study.assessment.inputs, study.assessment.ordinary_systems = CHAT_INPUTS, 5
    study.assessment.save()
    prepare(study, server, *FIVE)
    ann = Visitor.come(signs_in, locale=locale)
    expect(ann.heading).to_have_text(title)
    ann.agree()
    for n in range(6):
        expect(ann.page.locator("#topic")).to_be_visible()
        assert no_wider_than_the_screen(ann)
        ann.choose_topic()
        if n == 0:
            expect(ann.page.locator("#counter")).to_have_text(counter)
        ann.chat(CHAT_INPUTS)
        assert no_wider_than_the_screen(ann)
        ann.finish_chat()
        assert no_wider_than_the_screen(ann)
        ann.rate()
    ann.give_feedback("It was fine. 很好。")
    ann.see_code("DONE1")
    assert no_wider_than_the_screen(ann)
    assignment = Assignment.objects.get()
    assert (assignment.state, assignment.feedback) == (AssignmentState.COMPLETED, "It was fine. 很好。")
    assert set(Session.objects.values_list("state", flat=True)) == {SessionState.RATED}
    assert (Turn.objects.count(), Rating.objects.count()) == (6 * CHAT_INPUTS, 42)
    assert Session.objects.values("system").distinct().count() == 6


def test_the_bar_is_as_wide_as_the_chat_on_a_wide_screen(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    prepare(study, server, "good")
    ann = Visitor.come(signs_in, viewport={"width": 2560, "height": 1000})
    ann.agree()
    ann.choose_topic()
    expect(ann.page.locator(".chat")).to_be_visible()
    chat, progress, tools = (
        ann.page.locator(selector).evaluate("one => one.getBoundingClientRect().toJSON()")
        for selector in (".chat", ".study-progress", ".study-tools")
    )
    assert chat["left"] <= progress["left"]
    assert tools["right"] <= chat["right"]


def test_a_screen_reader_hears_what_comes_and_what_is_missing(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    prepare(study, server, "good")
    ann = Visitor.come(signs_in)
    ann.agree()
    ann.choose_topic()
    log = ann.page.get_by_role("log")
    ann.chat()
    expect(log).to_contain_text("You:")
    expect(log).to_contain_text("Chatbot:")
    ann.finish_chat()
    sliders = ann.page.get_by_role("slider")
    expect(sliders).to_have_count(7)
    expect(sliders.first).to_have_attribute("aria-valuetext", "not answered")
    ann.tab_to(ann.page.locator("[name=bot_opinion]").first)
    ann.press("Space", "Tab", "ArrowDown")
    ann.tab_to(ann.page.locator("#ratings .primary"))
    ann.press("Enter")
    expect(sliders.first).to_be_focused()
    expect(sliders.first).to_have_attribute("aria-invalid", "true")
    expect(ann.page.get_by_role("alert")).to_contain_text("Please answer everything.")


def test_a_submit_without_answers_marks_the_questions_where_they_stand(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    prepare(study, server, "good")
    ann = Visitor.come(signs_in)
    ann.agree()
    ann.choose_topic()
    ann.chat()
    ann.finish_chat()
    notes = ann.page.locator("#ratings .missing-note")
    ann.page.locator("#ratings .primary").click()
    expect(ann.page.locator("[name=bot_opinion]").first).to_be_focused()
    expect(notes.filter(visible=True)).to_have_count(9)
    expect(ann.page.locator("#bot_opinion-missing")).to_be_in_viewport()
    expect(ann.page.locator("#bot_opinion-missing")).to_have_text("No answer yet: choose one.")
    ann.press("Space")
    expect(notes.filter(visible=True)).to_have_count(8)
    expect(ann.page.locator("#bot_opinion-missing")).to_be_hidden()
    ann.page.locator("#ratings .primary").click()
    expect(ann.page.locator("[name=topic_change]").first).to_be_focused()
