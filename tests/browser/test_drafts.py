"""Unsent words: after a reload, on a second device, and when two devices disagree."""

from collections.abc import Callable

from playwright.sync_api import Route, expect

from accounts.models import User
from annotation.authoring.models import Draft, Turn
from annotation.tasks.models.work import Assignment
from dialogues.models import Action
from tests.browser.bench import Bench
from tests.browser.conftest import ROUTED, SignedIn

Eventually = Callable[[Callable[[], bool], str], None]


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
    tried: list[str] = []

    def refuse(route: Route) -> None:
        tried.append(route.request.method)
        route.fulfill(status=503, content_type="application/problem+json", body="{}")

    bench.page.route("**/draft/", refuse)
    bench.type("My cat")
    expect(bench.note).to_contain_text("kept in this browser")
    first = len(tried)
    bench.page.wait_for_timeout(3000)
    assert len(tried) == first  # the next one comes after five seconds, or when something changes
    bench.page.unroute("**/draft/")
    bench.type(" sheds")
    expect(bench.note).to_contain_text("draft saved")


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
    desk, phone = (Bench.open(signs_in(ann), anns_assignment) for _ in range(2))
    desk.type("At the desk.")
    expect(desk.note).to_contain_text("draft saved")
    phone.type("On the phone.")
    expect(phone.notices.locator("q")).to_have_text(["At the desk.", "On the phone."])
    phone.notices.get_by_role("button", name="Keep this one").click()
    eventually(lambda: saved(anns_assignment) == "On the phone.", "the chosen draft")
    desk.type(" More.")
    expect(desk.notices.locator("q")).to_have_text(["On the phone.", "At the desk. More."])
    desk.notices.get_by_role("button", name="Take the one there").click()
    expect(desk.field).to_have_value("On the phone.")
    expect(desk.notices).to_be_empty()


def test_a_device_without_a_draft_takes_that_of_the_other(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    desk, phone = (Bench.open(signs_in(ann), anns_assignment) for _ in range(2))
    desk.type("At the desk.")
    expect(desk.note).to_contain_text("draft saved")
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
