"""Unsent words: after a reload, on a second device, when two devices disagree, and when one has sent the turn."""

import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Route, expect

from accounts.models import User
from annotation.authoring.models import Draft, Turn
from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment
from dialogues.models import Action
from tests.browser.bench import Bench, hold_first, utterances
from tests.browser.conftest import ROUTED, SignedIn

Eventually = Callable[[Callable[[], bool], str], None]
Writes = Callable[..., TurnResult]


def two_devices(signs_in: SignedIn, ann: User, assignment: Assignment) -> tuple[Bench, Bench]:
    """A desk, where a draft was saved, and a phone, where nothing was written yet."""
    desk, phone = (Bench.open(signs_in(ann), assignment) for _ in range(2))
    return desk.saves("At the desk."), phone


def saved(assignment: Assignment) -> str:
    return Draft.objects.filter(assignment=assignment).values_list("text", flat=True).first() or ""


def test_a_draft_survives_a_reload_at_once(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.type("My cat she").reload()
    expect(bench.field).to_have_value("My cat she")


def test_a_draft_that_cannot_be_saved_is_not_tried_without_end(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann, **ROUTED), anns_assignment)
    tried: list[float] = []

    def refuse(route: Route) -> None:
        tried.append(time.monotonic())
        route.fulfill(status=503, content_type="application/problem+json", body="{}")

    bench.page.route("**/draft/", refuse)
    bench.field.fill("My cat")
    expect(bench.note).to_contain_text("kept in this browser")
    bench.page.wait_for_timeout(3000)
    # The next one comes after five seconds, or when something changes.
    assert all(later - before > 4 for before, later in pairwise(tried))
    bench.page.unroute("**/draft/")
    bench.saves(" sheds")


def test_a_draft_is_found_on_a_second_device(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    desk = Bench.open(signs_in(ann), anns_assignment)
    desk.says_and_waits("My cat sheds all over the sofa.")
    desk.press("6", "End").type(" And you?")
    text = desk.field.input_value()
    expect(desk.note).to_contain_text("draft saved")
    assert saved(anns_assignment) == text
    phone = Bench.open(signs_in(ann, viewport={"width": 360, "height": 740}), anns_assignment)
    expect(phone.field).to_have_value(text)
    expect(phone.note).to_contain_text("from 6")
    phone.submit().stored(2)
    turn = Turn.objects.get(assignment=anns_assignment, position=1)
    assert (turn.provenance.action, turn.provenance.source) == (Action.REVISE, 5)


def test_a_pick_from_an_earlier_set_keeps_its_source_on_a_second_device(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    desk = Bench.open(signs_in(ann), anns_assignment)
    desk.says_and_waits("My cat sheds all over the sofa.")
    desk.press("Alt+r")
    expect(desk.page.get_by_label("Sets of this turn")).to_have_value("1")
    desk.candidates()
    desk.page.get_by_label("Sets of this turn").select_option("0")
    desk.candidates()
    desk.field.focus()
    desk.press("4", "End").type(" Hm.")
    expect(desk.note).to_contain_text("draft saved")
    phone = Bench.open(signs_in(ann), anns_assignment)
    expect(phone.note).to_contain_text("from 4 of set 1")


def test_two_devices_disagree_and_the_person_chooses(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    desk, phone = two_devices(signs_in, ann, anns_assignment)
    phone.writes("On the phone.").chooses_between("At the desk.", "On the phone.")
    phone.notices.get_by_role("button", name="Keep this one").click()
    eventually(lambda: saved(anns_assignment) == "On the phone.", "the chosen draft")
    desk.writes(" More.").chooses_between("On the phone.", "At the desk. More.")
    desk.notices.get_by_role("button", name="Use the other one").click()
    expect(desk.field).to_have_value("On the phone.")
    expect(desk.notices).to_be_empty()


def test_a_device_without_a_draft_takes_that_of_the_other(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    _desk, phone = two_devices(signs_in, ann, anns_assignment)
    phone.type("x").press("Backspace")
    phone.reload()
    expect(phone.field).to_have_value("At the desk.")


def test_a_draft_that_was_sent_does_not_come_back(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits("My cat sheds all over the sofa.")
    bench.reload()
    expect(bench.field).to_have_value("")
    assert saved(anns_assignment) == ""


# ---- the turn was sent elsewhere ------------------------------------------------------------------------------------


def test_a_turn_of_another_tab_is_in_sight_below_what_was_there(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Callable[..., object]
) -> None:
    for position in range(9):
        writes(anns_assignment, f"utterance {position}", position)
    page = signs_in(ann, viewport={"width": 1366, "height": 800})
    first = Bench.open(page, anns_assignment)
    second = Bench.open(page.context.new_page(), anns_assignment)
    second.type("As the second tab has it.")
    first.type("As the first tab has it.").submit()
    expect(second.notices).to_contain_text("Turn 10 was written in another tab or on another device.")
    second.page.bring_to_front()
    expect(second.page.get_by_text("As the first tab has it.")).to_be_in_viewport()


@pytest.mark.parametrize("is_offline", [False, True])
def test_words_stay_with_their_turn_when_another_tab_sends_it(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, is_offline: bool
) -> None:
    page = signs_in(ann, permissions=["clipboard-read", "clipboard-write"])
    first = Bench.open(page, anns_assignment).kept_for_offline()
    second = Bench.open(page.context.new_page(), anns_assignment).kept_for_offline()
    page.context.set_offline(is_offline)
    second.type("As the second tab has it.")
    first.type("As the first tab has it.").submit()
    expect(second.notices).to_contain_text("Turn 1 was written in another tab or on another device.")
    expect(second.kept_words).to_have_text(["A, turn 1:", "As the second tab has it."])
    expect(second.field).to_have_value("")
    expect(second.page.locator("#writes")).to_have_text("B writes")
    second.page.bring_to_front()
    second.notices.get_by_role("button", name="Copy").click()
    expect(second.page.locator("#toasts")).to_contain_text("Copied")
    assert second.page.evaluate("navigator.clipboard.readText()") == "As the second tab has it."
    page.context.set_offline(False)
    second.stored(1)
    second.field.focus()
    second.type("B answers.").submit().stored(2)
    assert utterances(anns_assignment) == ["As the first tab has it.", "B answers."]
    expect(second.notices).not_to_contain_text("was written in another tab")
    second.notices.get_by_role("button", name="Discard").click()
    expect(second.notices).to_be_empty()


def test_a_tab_that_has_fallen_behind_keeps_its_words_over_a_reload(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    """Words that were saved, and that the turn of another device has emptied on the server, too."""
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.saves("At the desk.")
    writes(anns_assignment, "On the phone.", 0)
    bench.reload()
    expect(bench.notices).to_contain_text("Turn 1 was written in another tab or on another device.")
    expect(bench.kept_words).to_have_text(["A, turn 1:", "At the desk."])
    expect(bench.field).to_have_value("")


def test_a_device_that_writes_a_turn_which_was_sent_learns_it(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    writes(anns_assignment, "On the phone.", 0)
    bench.writes("At the desk.")
    expect(bench.notices).to_contain_text("Turn 1 was written in another tab or on another device.")
    bench.stored(1)
    expect(bench.kept_words).to_have_text(["A, turn 1:", "At the desk."])
    assert saved(anns_assignment) == ""


def test_when_the_kept_words_are_discarded_nothing_says_that_they_are_kept(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    bench = Bench.open(signs_in(ann, viewport={"width": 390, "height": 780}), anns_assignment)
    writes(anns_assignment, "On the phone.", 0)
    bench.writes("At the desk.")
    expect(bench.notices).to_contain_text("Your own words are kept here")
    buttons = bench.notices.locator("[data-cause=aside]").get_by_role("button")
    expect(buttons).to_have_text(["Put into the input", "Copy", "Discard"])
    assert len(set(buttons.evaluate_all("all => all.map((one) => one.offsetTop)"))) == 1
    buttons.last.click()
    expect(bench.notices).to_be_empty()


def test_a_choice_between_two_drafts_ends_when_one_of_them_is_sent(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann)
    first = Bench.open(page, anns_assignment)
    second = Bench.open(page.context.new_page(), anns_assignment)
    first.saves("In the first tab.")
    second.writes("In the second tab.").chooses_between("In the first tab.", "In the second tab.")
    first.submit().stored(1)
    expect(second.notices.get_by_role("button", name="Use the other one")).to_have_count(0)
    expect(second.kept_words).to_have_text(["A, turn 1:", "In the second tab."])
    second.saves("B answers.")
    assert saved(anns_assignment) == "B answers."


@pytest.mark.parametrize("choice", ["Use the other one", "Keep this one"])
def test_a_draft_that_was_sent_meanwhile_is_not_taken(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, choice: str
) -> None:
    desk, phone = two_devices(signs_in, ann, anns_assignment)
    phone.writes("On the phone.").chooses_between("At the desk.", "On the phone.")
    desk.submit().stored(1)
    phone.notices.get_by_role("button", name=choice).click()
    phone.stored(1)
    expect(phone.kept_words).to_have_text(["A, turn 1:", "On the phone."])
    expect(phone.field).to_have_value("")


def test_a_device_that_is_looked_at_again_shows_what_the_other_wrote(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    desk, phone = two_devices(signs_in, ann, anns_assignment)
    comes_back = "document.dispatchEvent(new Event('visibilitychange'))"
    phone.page.evaluate(comes_back)
    expect(phone.field).to_have_value("At the desk.")
    phone.saves(" And on.")
    desk.page.evaluate(comes_back)
    expect(desk.field).to_have_value("At the desk. And on.")
    phone.submit().stored(1)
    desk.page.evaluate(comes_back)
    desk.stored(1)
    expect(desk.field).to_have_value("")
    expect(desk.notices).to_be_empty()  # its words are in the turn


def test_words_that_the_stored_turn_merely_contains_are_kept(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    writes(anns_assignment, "不是", 0)
    bench.field.fill("是")
    bench.stored(1)
    expect(bench.kept_words).to_have_text(["A, turn 1:", "是"])
    expect(bench.field).to_have_value("")


def test_a_saved_beginning_that_another_device_went_on_from_is_in_the_turn(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    desk, phone = (Bench.open(signs_in(ann), anns_assignment) for _ in range(2))
    desk.saves("At the desk")
    phone.reload().type(", and on the phone.").submit().stored(1)
    desk.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    desk.stored(1)
    assert desk.says() == ["At the desk, and on the phone."]
    expect(desk.field).to_have_value("")
    expect(desk.kept_words).to_have_count(0)


def test_words_stay_with_their_turn_when_another_tab_takes_the_one_before_back(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    writes(anns_assignment, "My cat sheds.", 0)
    page = signs_in(ann)
    first = Bench.open(page, anns_assignment)
    second = Bench.open(page.context.new_page(), anns_assignment)
    second.saves("What does B say?")
    first.page.locator("#undo").click()
    expect(second.notices).to_contain_text("Turn 1 was taken back in another tab or on another device.")
    expect(second.field).to_have_value("My cat sheds.")
    expect(second.kept_words).to_have_text(["B, turn 2:", "What does B say?"])


def test_an_undo_that_has_not_arrived_is_not_taken_for_another_device(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    """The server still has the turn, so it refuses a draft for its position; a reload does not bring the turn back."""
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits("My cat sheds.")
    on_its_way = hold_first(page, "**/undo/")
    with page.expect_request("**/undo/"):
        page.locator("#undo").click()
    with page.expect_response("**/draft/") as answer:
        bench.type(" A lot.")
    assert answer.value.status == 409
    page.wait_for_timeout(1000)
    expect(bench.rows).to_have_count(0)
    expect(bench.field).to_have_value("My cat sheds. A lot.")
    assert utterances(anns_assignment) == ["My cat sheds."]
    on_its_way[0].continue_()
    expect(bench.note).to_contain_text("draft saved")
    eventually(lambda: utterances(anns_assignment) == [], "the undoing")
    assert saved(anns_assignment) == "My cat sheds. A lot."
    expect(bench.notices).to_be_empty()


def test_an_undo_that_waits_outlives_a_reload(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits("My cat sheds.")
    page.route("**/undo/", lambda route: route.abort())
    page.locator("#undo").click()
    bench.reload()
    expect(bench.rows).to_have_count(0)
    expect(bench.field).to_have_value("My cat sheds.")
    expect(bench.notices).to_be_empty()
    page.unroute("**/undo/")
    eventually(lambda: utterances(anns_assignment) == [], "the undoing")
    expect(bench.field).to_have_value("My cat sheds.")


def test_starting_over_keeps_the_words_in_the_input_and_putting_back_returns_them(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    writes(anns_assignment, "My cat sheds.", 0)
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.type("What does B say?")
    bench.page.get_by_role("button", name="More", exact=True).click()
    bench.page.get_by_role("button", name="Start over…").click()
    bench.page.get_by_role("dialog").get_by_role("button", name="Start over").click()
    expect(bench.rows).to_have_count(0)
    expect(bench.kept_words).to_have_text(["B, turn 2:", "What does B say?"])
    expect(bench.notices).not_to_contain_text("in another tab")
    bench.page.get_by_role("button", name="Put back").click()
    bench.stored(1)
    expect(bench.field).to_have_value("What does B say?")
    expect(bench.notices).to_be_empty()
