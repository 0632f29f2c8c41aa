"""The input: where the focus and the caret are, when a digit picks, and what stays in sight."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from accounts.models import User
from annotation.tasks.models.work import Assignment
from tests.browser.bench import OFF_CENTRE, Bench
from tests.browser.conftest import SignedIn
from tests.browser.test_projects import COVERED, NOTES

PHONE = {"viewport": {"width": 390, "height": 780}}
TOUCH_SCREEN = {**PHONE, "is_mobile": True, "has_touch": True}
# A click sooner after a turn was sent may be the second of a double click, and says nothing (TWICE_MS in turn.js).
LONGER_THAN_A_DOUBLE_CLICK = 700  # ms
OPENING = "My cat sheds all over the sofa."


@pytest.fixture
def bench(anns_assignment: Assignment, ann: User, signs_in: SignedIn) -> Bench:
    return Bench.open(signs_in(ann), anns_assignment)


# ---- focus and caret ------------------------------------------------------------------------------------------------


def test_after_submit_by_mouse_the_next_turn_can_be_typed(bench: Bench) -> None:
    bench.type(OPENING)
    bench.page.locator("#submit").click()
    bench.stored(1)
    expect(bench.field).to_be_focused()
    bench.type("It ").stored(1)
    expect(bench.field).to_have_value("It ")


def test_after_a_click_on_submit_that_sends_nothing_one_can_type(bench: Bench) -> None:
    bench.page.locator("#submit").click()
    expect(bench.note).to_contain_text("Write the first utterance, or start from an idea.")
    bench.type("It sheds.")
    expect(bench.field).to_have_value("It sheds.")
    bench.submit().stored(1).candidates()
    bench.page.wait_for_timeout(LONGER_THAN_A_DOUBLE_CLICK)
    bench.page.locator("#submit").click()
    expect(bench.note).to_contain_text("Write something, or pick a candidate.")


def test_a_restored_draft_is_written_on_at_its_end(bench: Bench) -> None:
    bench.saves("alpha beta")
    bench.reload().type(" gamma")
    expect(bench.field).to_have_value("alpha beta gamma")


def test_an_empty_input_is_not_saved_as_a_draft(bench: Bench) -> None:
    bench.saves(OPENING)
    bench.submit()
    expect(bench.field).to_have_value("")
    expect(bench.note).not_to_contain_text("draft saved")


# ---- digits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["2 hours ago.", "15 of them.", "33 cats.", "7pm", "2024 was a good year."])
def test_a_text_that_begins_with_digits_stays_what_was_typed(bench: Bench, text: str) -> None:
    bench.says_and_waits(OPENING)
    bench.type(text)
    expect(bench.field).to_have_value(text)
    expect(bench.note).not_to_contain_text("from")
    expect(bench.page.locator("#candidates [aria-pressed=true]")).to_have_count(0)


def test_another_digit_changes_the_pick_and_an_arrow_keeps_it(bench: Bench) -> None:
    candidates = bench.says_and_waits(OPENING)
    bench.press("1", "3")
    expect(bench.field).to_have_value(candidates[2])
    bench.press("End").type(" 5")
    expect(bench.field).to_have_value(f"{candidates[2]} 5")
    expect(bench.note).to_contain_text("from 3")


def test_typing_after_a_click_changes_the_pick(bench: Bench) -> None:
    candidates = bench.says_and_waits(OPENING)
    bench.places.nth(1).click()
    bench.type(" 3")
    expect(bench.field).to_have_value(f"{candidates[1]} 3")


def test_alt_with_a_digit_picks_over_any_text_and_undo_brings_it_back(bench: Bench) -> None:
    candidates = bench.says_and_waits(OPENING)
    bench.type("3 cats")
    bench.press("Alt+5")
    expect(bench.field).to_have_value(candidates[4])
    bench.type("!")
    expect(bench.field).to_have_value(f"{candidates[4]}!")
    bench.press("Control+z", "Control+z")
    expect(bench.field).to_have_value("3 cats")


def test_undoing_a_pick_brings_back_what_the_text_was_made_from(bench: Bench) -> None:
    candidates = bench.says_and_waits(OPENING)
    bench.press("5", "End").type(" I would go mad.")
    expect(bench.note).to_contain_text("from 5")
    bench.press("Alt+4")
    expect(bench.field).to_have_value(candidates[3])
    bench.press("Control+z")
    expect(bench.field).to_have_value(f"{candidates[4]} I would go mad.")
    expect(bench.note).to_contain_text("from 5")
    bench.type(" Really.")
    expect(bench.field).to_have_value(f"{candidates[4]} I would go mad. Really.")
    bench.press("Control+z", "Control+y", "Alt+4", "Control+z", "Control+Shift+z")
    expect(bench.field).to_have_value(candidates[3])
    expect(bench.note).to_contain_text("from 4")


def test_undoing_a_pick_brings_back_words_of_ones_own(bench: Bench) -> None:
    bench.says_and_waits(OPENING)
    bench.type("My own words").press("Alt+4", "Control+z")
    expect(bench.field).to_have_value("My own words")
    expect(bench.note).not_to_contain_text("from")


def test_a_digit_in_a_cleared_input_picks(bench: Bench) -> None:
    candidates = bench.says_and_waits(OPENING)
    bench.press("3", "Escape")
    expect(bench.note).to_contain_text("Cleared. Ctrl+Z brings it back.")
    bench.press("3")
    expect(bench.field).to_have_value(candidates[2])


def test_a_cleared_text_is_brought_back_without_a_key(bench: Bench) -> None:
    candidates = bench.says_and_waits(OPENING)
    bench.press("Alt+3").type(" And more.")
    bench.page.locator("#clear").click()
    bench.page.locator("#toasts .toast").hover()  # which keeps it
    expect(bench.field).to_have_value("")
    bench.page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(bench.field).to_have_value(f"{candidates[2]} And more.")
    expect(bench.note).to_contain_text("from 3")


def test_a_cleared_text_does_not_come_back_in_another_turn(bench: Bench) -> None:
    bench.says_and_waits(OPENING)
    bench.type("Gone.")
    bench.page.locator("#clear").click()
    bench.page.locator("#toasts .toast").hover()  # which keeps it
    bench.says_and_waits("Another answer.")
    bench.page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(bench.field).to_have_value("")


def test_a_word_of_an_input_method_undoes_the_pick(bench: Bench) -> None:
    bench.says_and_waits("春天我家猫开始掉毛了")
    bench.press("2")
    input_method = bench.page.context.new_cdp_session(bench.page)
    key = {"key": "Process", "code": "KeyG", "windowsVirtualKeyCode": 229}
    input_method.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
    input_method.send("Input.imeSetComposition", {"text": "ge", "selectionStart": 2, "selectionEnd": 2})
    input_method.send("Input.insertText", {"text": "个小时"})
    expect(bench.field).to_have_value("2个小时")


def test_a_word_that_begins_without_a_key_undoes_the_pick(bench: Bench) -> None:
    bench.says_and_waits("春天我家猫开始掉毛了")
    bench.press("2")
    input_method = bench.page.context.new_cdp_session(bench.page)
    input_method.send("Input.imeSetComposition", {"text": "ge", "selectionStart": 2, "selectionEnd": 2})
    expect(bench.field).to_have_value("2ge")
    input_method.send("Input.imeSetComposition", {"text": "gexi", "selectionStart": 4, "selectionEnd": 4})
    input_method.send("Input.insertText", {"text": "个小时"})
    expect(bench.field).to_have_value("2个小时")
    input_method.send("Input.imeSetComposition", {"text": "qian", "selectionStart": 4, "selectionEnd": 4})
    input_method.send("Input.insertText", {"text": "前"})
    expect(bench.field).to_have_value("2个小时前")
    expect(bench.note).not_to_contain_text("from")
    expect(bench.page.locator("#candidates [aria-pressed=true]")).to_have_count(0)


def test_a_word_after_a_clicked_candidate_changes_it(bench: Bench) -> None:
    candidates = bench.says_and_waits("春天我家猫开始掉毛了")
    bench.places.nth(1).click()
    input_method = bench.page.context.new_cdp_session(bench.page)
    input_method.send("Input.imeSetComposition", {"text": "ge", "selectionStart": 2, "selectionEnd": 2})
    input_method.send("Input.insertText", {"text": "个小时"})
    expect(bench.field).to_have_value(f"{candidates[1]}个小时")
    expect(bench.note).to_contain_text("from 2")


# ---- what stays in sight --------------------------------------------------------------------------------------------


def test_the_composer_stays_at_the_bottom(bench: Bench) -> None:
    places = []
    for turn in range(3):
        places.append(round(bench.page.locator("#submit").evaluate("it => it.getBoundingClientRect().top")))
        bench.type(f"Turn {turn}.").submit().stored(turn + 1)
    assert len(set(places)) == 1


def test_the_newest_turn_stays_visible_with_the_keyboard_of_a_phone(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Callable[..., object]
) -> None:
    for position in range(10):
        writes(anns_assignment, f"Utterance {position} with some words.", position)
    bench = Bench.open(signs_in(ann, **PHONE), anns_assignment)
    bench.candidates()
    expect(bench.rows.last).to_be_in_viewport(ratio=1)
    bench.page.set_viewport_size({"width": 390, "height": 400})  # the keyboard takes the rest
    expect(bench.rows.last).to_be_in_viewport(ratio=1)
    expect(bench.field).to_be_in_viewport(ratio=1)
    expect(bench.page.locator("#submit")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("height", [780, 420])
def test_after_a_turn_a_phone_shows_it_and_the_first_candidates(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Callable[..., object], height: int
) -> None:
    """The list was scrolled down for the pick before."""
    for position in range(6):
        writes(anns_assignment, f"Utterance {position} with some words.", position)
    size = {"width": 390, "height": height}
    bench = Bench.open(signs_in(ann, viewport=size, is_mobile=True, has_touch=True), anns_assignment)
    bench.candidates()
    bench.places.last.tap()
    bench.page.locator("#submit").tap()
    bench.stored(7).candidates()
    expect(bench.places.first).to_be_in_viewport(ratio=1)
    expect(bench.rows.last).to_be_in_viewport(ratio=1)
    expect(bench.page.locator("#submit")).to_be_in_viewport(ratio=1)


def test_with_the_keyboard_of_a_phone_the_input_still_says_who_writes(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Callable[..., object]
) -> None:
    writes(anns_assignment, OPENING, 0)
    bench = Bench.open(signs_in(ann, viewport={"width": 390, "height": 420}), anns_assignment)
    bench.candidates()  # nothing moves any more
    speaker = bench.page.get_by_text("B writes")
    expect(speaker).to_be_in_viewport(ratio=1)
    beside, words = speaker.bounding_box(), bench.field.bounding_box()
    assert beside is not None
    assert words is not None
    assert beside["x"] + beside["width"] <= words["x"]
    assert words["y"] <= beside["y"] < words["y"] + words["height"]


def test_on_a_touch_screen_candidates_have_the_width_of_their_row(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    """No key stands in front of them there, and nothing names them by it."""
    bench = Bench.open(signs_in(ann, **TOUCH_SCREEN), anns_assignment)
    words = bench.page.locator(".candidate-words").first
    expect(words).to_be_visible()
    share = words.evaluate("one => one.getBoundingClientRect().width / one.parentElement.clientWidth")
    assert share > 0.7
    bench.field.fill(OPENING)
    bench.page.locator("#submit").tap()
    bench.stored(1).candidates()
    bench.places.first.tap()
    expect(bench.note).to_contain_text("select")
    expect(bench.note).not_to_contain_text("from")
    off_centre = bench.places.evaluate_all(OFF_CENTRE)
    assert [px for px in off_centre if abs(px) > 1] == []


def test_on_a_touch_screen_only_a_tap_on_the_input_brings_up_the_keyboard(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann, **TOUCH_SCREEN), anns_assignment)
    submit = bench.page.locator("#submit")
    bench.field.fill(OPENING)
    submit.tap()
    first = bench.stored(1).candidates()
    expect(bench.field).to_be_focused()  # it was before
    bench.places.nth(2).tap()
    expect(bench.field).to_have_value(first[2])
    expect(bench.field).not_to_be_focused()
    bench.page.locator("#clear").tap()
    expect(bench.field).to_have_value("")
    bench.page.locator("#toasts").get_by_role("button", name="Undo").tap()
    expect(bench.field).to_have_value(first[2])
    expect(bench.field).not_to_be_focused()
    submit.tap()
    bench.stored(2).candidates()
    expect(bench.field).not_to_be_focused()
    bench.page.locator("#undo").tap()
    expect(bench.field).to_have_value(first[2])
    expect(bench.field).not_to_be_focused()
    bench.field.tap()
    bench.press("Control+End").type(" Yes.")
    expect(bench.field).to_have_value(f"{first[2]} Yes.")
    submit.tap()
    bench.stored(2)
    expect(bench.field).to_be_focused()


@pytest.mark.parametrize("width", [360, 390])
def test_a_note_covers_no_button_on_a_phone(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, width: int
) -> None:
    bench = Bench.open(signs_in(ann, viewport={"width": width, "height": 780}), anns_assignment)
    bench.says_and_waits(OPENING)
    assert {words: covered for words in NOTES if (covered := bench.page.evaluate(COVERED, words))} == {}
    expect(bench.page.locator("#toasts .toast")).to_have_count(1)
