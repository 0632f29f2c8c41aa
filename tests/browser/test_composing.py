"""Input methods: the Enter that takes a word is not the Enter that sends."""

import pytest
from playwright.sync_api import CDPSession, Locator, Page, expect

from accounts.models import User
from annotation.tasks.models.work import Assignment
from tests.browser.bench import Bench, turns_sent
from tests.browser.conftest import SignedIn

ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}


def press_enter(input_method: CDPSession, **more: object) -> None:
    for kind in ("rawKeyDown", "keyUp"):
        input_method.send("Input.dispatchKeyEvent", {"type": kind, **ENTER, **more})


def report_enter_after_the_composition(field: Locator, *, ctrl: bool) -> None:
    """As Safari does. Within the page, because a second command could arrive after the pause that settles it."""
    field.evaluate(
        """(field, ctrlKey) => field.addEventListener("compositionend", () => {
          field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", code: "Enter", ctrlKey, bubbles: true}));
          field.reported = true;
        }, {once: true})""",
        ctrl,
    )


@pytest.fixture(params=["ctrl+enter", "enter"])
def bench(
    request: pytest.FixtureRequest, anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> Bench:
    """Of a person who sends with Ctrl+Enter, and of one who sends with Enter."""
    ann.submit_on_enter = request.param == "enter"
    ann.save()
    return Bench.open(signs_in(ann), anns_assignment)


def modifiers(person: User) -> dict[str, int]:
    return {} if person.submit_on_enter else {"modifiers": 2}  # Ctrl


def test_enter_while_composing_does_not_send(bench: Bench, ann: User, anns_assignment: Assignment) -> None:
    page: Page = bench.page
    input_method = page.context.new_cdp_session(page)
    bench.field.focus()
    input_method.send("Input.imeSetComposition", {"text": "mao", "selectionStart": 3, "selectionEnd": 3})
    press_enter(input_method, **modifiers(ann))
    input_method.send("Input.imeSetComposition", {"text": "猫", "selectionStart": 1, "selectionEnd": 1})
    press_enter(input_method, **modifiers(ann))
    expect(bench.field).to_have_value("猫")
    expect(bench.rows).to_have_count(0)
    report_enter_after_the_composition(bench.field, ctrl=not ann.submit_on_enter)
    input_method.send("Input.insertText", {"text": "猫"})
    expect(bench.field).to_have_js_property("reported", True)
    expect(bench.rows).to_have_count(0)
    page.wait_for_timeout(300)
    press_enter(input_method, **modifiers(ann))
    bench.stored(1)
    assert bench.says() == ["猫"]
    assert turns_sent(anns_assignment) == 1


def test_enter_with_keycode_229_does_not_send(bench: Bench, ann: User) -> None:
    input_method = bench.page.context.new_cdp_session(bench.page)
    bench.field.fill("猫")
    press_enter(input_method, **modifiers(ann), windowsVirtualKeyCode=229)
    bench.page.wait_for_timeout(200)
    expect(bench.rows).to_have_count(0)


def test_digits_while_composing_choose_words_not_candidates(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits("春天我家猫开始掉毛了")
    input_method = bench.page.context.new_cdp_session(bench.page)
    input_method.send("Input.imeSetComposition", {"text": "mao", "selectionStart": 3, "selectionEnd": 3})
    digit = {"key": "2", "code": "Digit2", "windowsVirtualKeyCode": 50}
    input_method.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **digit})
    expect(bench.page.locator("#candidates [aria-pressed=true]")).to_have_count(0)


def test_shift_enter_is_a_new_line_where_enter_sends(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    ann.submit_on_enter = True
    ann.save()
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.type("One").press("Shift+Enter").type("two").press("Enter").stored(1)
    assert bench.says() == ["One\ntwo"]


def test_enter_is_a_new_line_where_ctrl_enter_sends(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.type("One").press("Enter").type("two").submit().stored(1)
    assert bench.says() == ["One\ntwo"]
