"""An expert at the keyboard: reads, remarks, passes, vetoes, undoes, and loses no word."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import transaction
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue
from annotation.expert_review.models import ExpertReview
from annotation.expert_review.services import submit_verdict
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue, ReviewState
from projects.models import Project
from tests.browser.conftest import SignedIn

REVIEW = "/p/chit-chat/review/"
SETTLED_MS = 600  # a verdict is not taken in the first half second of a page
# Within the page, because a key from outside may arrive later than that.
PRESSES_P_AT_ONCE = """new MutationObserver((_changes, observer) => {
  if (!document.documentElement?.dataset.ready) return;
  observer.disconnect();
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "p", code: "KeyP", bubbles: true}));
  window.hasPressed = true;
}).observe(document, {attributes: true, subtree: true, attributeFilter: ["data-ready"]});"""


@pytest.fixture
def three(planned: Project, ann: User, writes: Callable[..., object]) -> list[Dialogue]:
    """Three finished dialogues of Ann's; at once, that no worker makes candidates for what is answered already."""
    finished = []
    with transaction.atomic():
        for number in range(3):
            assignment = claim_next_task(annotator=ann, project=planned, claim_id=uuid4())
            for position in range(14):
                writes(assignment, f"utterance {position} of {number}", position)
            finished.append(finish_dialogue(annotator=ann, assignment_id=assignment.pk).dialogue)
    return finished


@pytest.fixture
def page(three: list[Dialogue], signs_in: SignedIn, carlos: User) -> Page:
    """The first dialogue, opened with the key of the overview."""
    opened = signs_in(carlos)
    opened.goto(REVIEW)
    opened.keyboard.press("n")
    return settled(opened, three[0])


def settled(page: Page, dialogue: Dialogue) -> Page:
    page.wait_for_url(f"**{REVIEW}{dialogue.pk}/")
    page.wait_for_selector("html[data-ready]")
    page.wait_for_timeout(SETTLED_MS)
    return page


def state_of(dialogue: Dialogue) -> str:
    return Dialogue.objects.get(pk=dialogue.pk).review_state


def current(page: Page) -> str:
    return page.locator(".turn[aria-current=true] .turn-text").inner_text()


def test_pass_leads_to_the_next_at_once_and_undo_back(page: Page, three: list[Dialogue]) -> None:
    page.keyboard.press("p")
    settled(page, three[1])
    assert state_of(three[0]) == ReviewState.PASSED
    page.keyboard.press("u")
    settled(page, three[0])
    assert state_of(three[0]) == ReviewState.UNREVIEWED


def test_a_review_by_keyboard_only(page: Page, three: list[Dialogue]) -> None:
    page.keyboard.press("p")
    settled(page, three[1])
    for key in "jjjr":
        page.keyboard.press(key)
    page.keyboard.type("Rude.")
    page.keyboard.press("Escape")
    page.keyboard.press("v")
    page.keyboard.type("The end is an insult.")
    page.keyboard.press("Alt+x")
    settled(page, three[2])
    veto = ExpertReview.objects.get(dialogue=three[1])
    assert (veto.verdict, veto.reason) == ("veto", "The end is an insult.")
    assert veto.remarks == [{"position": 2, "text": "Rude."}]
    page.keyboard.press("p")
    page.wait_for_url(f"**{REVIEW}")
    expect(page.get_by_role("heading", name="Every finished dialogue is reviewed")).to_be_visible()
    assert [state_of(dialogue) for dialogue in three] == ["passed", "vetoed", "passed"]


def test_keys_move_between_utterances_and_stop_at_the_ends(page: Page) -> None:
    page.keyboard.press("j")
    assert current(page) == "utterance 0 of 0"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert current(page) == "utterance 1 of 0"
    for _ in range(20):
        page.keyboard.press("j")
    assert current(page) == "utterance 13 of 0"
    expect(page.locator("#u13")).to_be_in_viewport()


def test_the_key_that_sends_elsewhere_never_vetoes(page: Page, three: list[Dialogue]) -> None:
    page.keyboard.press("v")
    page.keyboard.type("The end is an insult.")
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    settled(page, three[1])
    assert state_of(three[0]) == ReviewState.PASSED


def test_keys_are_letters_while_a_reason_is_typed(page: Page, three: list[Dialogue]) -> None:
    page.keyboard.press("v")
    page.keyboard.type("jump puns")
    expect(page.locator("#reason")).to_have_value("jump puns")
    assert state_of(three[0]) == ReviewState.UNREVIEWED


def test_a_veto_without_words_is_not_sent_and_says_why(page: Page, three: list[Dialogue]) -> None:
    page.keyboard.press("Alt+x")
    expect(page.get_by_role("alert")).to_contain_text("A veto needs a reason")
    expect(page.locator("#reason")).to_be_focused()
    assert state_of(three[0]) == ReviewState.UNREVIEWED


def test_a_key_pressed_twice_passes_one_dialogue(page: Page, three: list[Dialogue]) -> None:
    page.add_init_script(PRESSES_P_AT_ONCE)
    page.keyboard.press("p")
    page.wait_for_url(f"**{REVIEW}{three[1].pk}/")
    page.wait_for_function("window.hasPressed")
    page.wait_for_timeout(SETTLED_MS)
    assert [state_of(dialogue) for dialogue in three] == ["passed", "unreviewed", "unreviewed"]


def test_an_empty_remark_closes_behind_one(page: Page) -> None:
    page.keyboard.press("r")
    expect(page.locator("#u0 textarea")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#u0 details")).not_to_have_attribute("open", "")


def test_words_survive_a_reload(page: Page) -> None:
    page.keyboard.press("r")
    page.keyboard.type("Odd.")
    page.fill("#reason", "Half a sentence")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#reason")).to_have_value("Half a sentence")
    expect(page.locator("#u0 textarea")).to_have_value("Odd.")
    expect(page.locator("#u0 textarea")).to_be_visible()


def test_offline_nothing_is_sent_and_nothing_lost(page: Page, three: list[Dialogue]) -> None:
    page.fill("#reason", "Insults at the end.")
    page.context.set_offline(True)
    page.keyboard.press("Alt+x")
    expect(page.get_by_role("status").filter(has_text="No connection")).to_be_visible()
    expect(page.locator("#reason")).to_have_value("Insults at the end.")
    page.context.set_offline(False)
    page.keyboard.press("Alt+x")
    settled(page, three[1])
    assert state_of(three[0]) == ReviewState.VETOED


def test_the_words_of_a_stored_verdict_do_not_come_up_elsewhere(page: Page, three: list[Dialogue]) -> None:
    page.fill("#reason", "Insults at the end.")
    page.keyboard.press("Alt+x")
    settled(page, three[1])
    expect(page.locator("#reason")).to_have_value("")
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('review')).length") == 0


def test_later_leaves_it_for_later(page: Page, three: list[Dialogue]) -> None:
    page.keyboard.press("n")
    settled(page, three[1])
    assert state_of(three[0]) == ReviewState.UNREVIEWED


def test_without_scripts_the_form_does_it_all(
    three: list[Dialogue], signs_in: SignedIn, carlos: User
) -> None:
    page = signs_in(carlos, java_script_enabled=False)
    page.goto(REVIEW)
    page.get_by_role("button", name="Next dialogue").click()
    page.locator("#u2 summary").click()
    page.locator("#u2 textarea").fill("Rude.")
    page.get_by_role("button", name="Veto").click()
    page.wait_for_url(f"**{REVIEW}{three[1].pk}/")
    page.get_by_role("button", name="Veto").click()
    expect(page.get_by_role("alert")).to_contain_text("A veto needs a reason")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(f"**{REVIEW}{three[0].pk}/")
    expect(page.locator("#u2 textarea")).to_have_value("Rude.")


def test_the_author_is_notified_and_marks_it_as_read(
    three: list[Dialogue], signs_in: SignedIn, carlos: User, ann: User
) -> None:
    submit_verdict(
        reviewer=carlos,
        dialogue_id=three[0].pk,
        review_id=uuid4(),
        verdict="veto",
        reason="A cat, then a dog.",
    )
    page = signs_in(ann)
    page.goto("/p/chit-chat/queue/")
    back = page.get_by_role("region", name="Came back")
    expect(back).to_contain_text("A cat, then a dog.")
    expect(back).not_to_contain_text("carlos")
    page.keyboard.press("v")
    expect(page.get_by_text("Vetoes that you have read")).to_be_visible()
    expect(back).to_have_count(0)


@pytest.mark.parametrize("width", [360, 700, 1280, 2560])
def test_everything_can_be_reached_at_every_width(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 760})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in ("Pass", "Veto", "Later", "Stop"):
        button = page.get_by_role("button", name=name)
        button.scroll_into_view_if_needed()
        expect(button).to_be_in_viewport()
    page.keyboard.press("r")
    expect(page.locator("#u0 textarea")).to_be_focused()
    expect(page.locator("#u0 textarea")).to_be_in_viewport()


@pytest.mark.parametrize(("theme", "language"), [("light", "en"), ("dark", "zh-hans")])
def test_axe_finds_nothing_also_with_remarks_open(
    page: Page, carlos: User, theme: str, language: str
) -> None:
    User.objects.filter(pk=carlos.pk).update(theme=theme, language=language)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.keyboard.press("r")
    page.keyboard.press("Alt+x")
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()
