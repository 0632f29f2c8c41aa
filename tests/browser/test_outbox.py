"""No word is lost: without a network, without a server, in two tabs, refused."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment, AssignmentState, Task
from annotation.tasks.services.assignment import reap_expired_leases
from projects.models import Project
from tests.browser.bench import Bench, hold_first, turns_sent, utterances
from tests.browser.conftest import ROUTED, SignedIn
from tests.processes import Running, Stack

Eventually = Callable[[Callable[[], bool], str], None]
PAGES_IN_CACHES = """async () => {
  const paths = [];
  for (const name of await caches.keys())
    for (const { url } of await (await caches.open(name)).keys()) paths.push(new URL(url).pathname);
  return paths.filter((path) => !path.startsWith("/static/"));
}"""
Writes = Callable[..., TurnResult]
OPENING = "My cat sheds all over the sofa."


@contextmanager
def asleep(process: Running) -> Iterator[None]:
    """A process that hangs: it keeps its connections and answers nothing."""
    assert process.process is not None
    os.killpg(process.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(process.process.pid, signal.SIGCONT)


def somebody_else_takes(assignment: Assignment) -> None:
    """The lease ends, and the dialogue has no place for its annotator any more."""
    Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    reap_expired_leases()
    Task.objects.filter(pk=assignment.task_id).update(open_slots=0)


def test_three_submissions_offline_survive_a_reload_and_arrive_in_order(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment).kept_for_offline()
    page.context.set_offline(True)
    for text in ("One.", "Two.", "Three."):
        bench.type(text).submit()
    expect(bench.badge).to_have_text("3 waiting to send")
    expect(bench.notices).to_contain_text("No connection.")
    bench.reload()
    assert bench.says() == ["One.", "Two.", "Three."]
    expect(bench.badge).to_have_text("3 waiting to send")
    bench.type("And I am still wri")
    page.context.set_offline(False)
    bench.stored(3)
    assert utterances(anns_assignment) == ["One.", "Two.", "Three."]
    assert turns_sent(anns_assignment) == 3
    expect(bench.badge).to_be_hidden()
    expect(bench.notices).to_be_empty()
    expect(bench.field).to_have_value("And I am still wri")
    bench.candidates()


def test_an_opening_that_waits_to_be_sent_says_when_candidates_come(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment).kept_for_offline()
    title, message = page.locator("#candidates-title"), page.locator("#candidates [data-message]")
    expect(title).to_have_text("Ideas for the opening")
    page.context.set_offline(True)
    bench.type(OPENING).submit()
    for _time in ("sent", "reloaded"):
        expect(title).to_have_text("Candidates")
        expect(message).to_contain_text("Candidates will appear when it is back. You can write your own")
        expect(bench.places).to_have_count(0)
        bench.reload()


def test_the_cause_of_waiting_follows_the_connection(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)
    message = page.locator("#candidates [data-message]")
    page.route("**/turns/", lambda route: route.abort())
    bench.type(OPENING).submit()
    for is_offline in (False, True, False):
        page.context.set_offline(is_offline)
        cause = (
            "No connection. Candidates will appear when it is back"
            if is_offline
            else "once your turn is saved"
        )
        expect(message).to_contain_text(cause)


def test_a_reload_offline_shows_what_was_stored_since_the_page_was_made(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment).kept_for_offline()
    bench.says_and_waits(OPENING)
    bench.press("3").submit().stored(2)
    before = bench.says()
    page.context.set_offline(True)
    bench.reload()
    assert bench.says() == before
    bench.type("Offline.").submit()
    page.context.set_offline(False)
    bench.stored(3)
    assert utterances(anns_assignment) == [*before, "Offline."]


def test_turns_wait_while_there_is_no_connection(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)
    held = hold_first(page, "**/turns/")
    with page.expect_request("**/turns/"):
        bench.type(OPENING).submit()
    expect(bench.rows).to_contain_text("sending")
    page.context.set_offline(True)
    expect(bench.rows).to_contain_text("waiting")
    expect(bench.rows).not_to_contain_text("sending")
    page.context.set_offline(False)
    expect(bench.rows).to_contain_text("sending")
    held[0].continue_()
    bench.stored(1)


def test_a_waiting_turn_is_sent_from_any_page(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, stack: Stack, eventually: Eventually
) -> None:
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)
    page.route("**/turns/", lambda route: route.abort())
    bench.type(OPENING).submit()
    expect(bench.badge).to_have_text("1 waiting to send")
    page.goto("/p/chit-chat/queue/")
    expect(bench.badge).to_have_text("1 waiting to send")
    expect(page.locator("#waiting")).to_contain_text(OPENING)
    page.unroute("**/turns/")
    page.goto("/account/")
    eventually(lambda: utterances(anns_assignment) == [OPENING], "the sending")
    expect(bench.badge).to_be_hidden()


def test_an_answer_that_is_lost_on_its_way_back_stores_nothing_twice(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)
    answers: list[int] = []

    def store_and_lose(route: object) -> None:
        answers.append(route.fetch().status)  # type: ignore[attr-defined]
        if len(answers) < 3:
            route.abort()  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    page.route("**/turns/", store_and_lose)
    bench.type(OPENING).submit().stored(1)
    assert answers == [201, 200, 200]
    assert turns_sent(anns_assignment) == 1


def test_a_hanging_server_costs_no_word(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, stack: Stack
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    with asleep(stack.running["web"]):
        bench.type(OPENING).submit()
        expect(bench.badge).to_have_text("1 waiting to send")
        bench.type("I go on by myself.").submit()
        expect(bench.page.locator("[data-message]")).to_contain_text("counts as a rewrite")
    bench.stored(2)
    assert utterances(anns_assignment) == [OPENING, "I go on by myself."]


def test_two_tabs_show_the_same_dialogue(anns_assignment: Assignment, ann: User, signs_in: SignedIn) -> None:
    first = Bench.open(signs_in(ann), anns_assignment)
    second = Bench.open(first.page.context.new_page(), anns_assignment)
    first.page.bring_to_front()
    first.type(OPENING).submit().stored(1)
    second.stored(1)
    second.page.bring_to_front()
    assert second.candidates() == first.candidates()
    second.field.focus()
    second.press("2").submit().stored(2)
    first.stored(2)
    assert first.says() == utterances(anns_assignment)


def test_two_devices_write_the_same_turn(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    """The second one learns what happened, sees what is stored, and finds its words above the input, not under B."""
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    writes(anns_assignment, "Written on the phone.", 0)
    bench.type("Written at the desk.").submit()
    expect(bench.notices).to_contain_text("was already written")
    bench.stored(1)
    assert bench.says() == ["Written on the phone."]
    shown = "This page shows what is stored now."
    expect(bench.notices).to_contain_text(f"{shown} Your own words are kept here")
    expect(bench.kept_words).to_have_text(["A, turn 1:", "Written at the desk."])
    expect(bench.field).to_have_value("")
    expect(page.locator("#writes")).to_have_text("B writes")
    bench.notices.get_by_role("button", name="Put into the input").click()
    expect(bench.field).to_have_value("Written at the desk.")
    expect(bench.notices).to_contain_text(shown)
    expect(bench.notices).not_to_contain_text("kept here")
    bench.submit().stored(2)
    assert utterances(anns_assignment) == ["Written on the phone.", "Written at the desk."]
    expect(bench.notices).to_be_empty()


def test_what_kept_a_dialogue_from_being_left_goes_away_with_it(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment).kept_for_offline()
    page.context.set_offline(True)
    bench.type("One.").submit().press("Control+s")
    expect(bench.notices).to_contain_text("Your last turns are not sent yet.")
    page.context.set_offline(False)
    bench.stored(1)
    expect(bench.notices).to_be_empty()


def test_refused_words_come_back_even_when_more_was_written_behind_them(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    page.context.set_offline(True)
    for text in ("One.", "Two.", "Three."):
        bench.type(text).submit()
    bench.type("In the middle of")
    writes(anns_assignment, "Written on the phone.", 0)
    page.context.set_offline(False)
    expect(bench.notices).to_contain_text("was already written")
    # Turn 2 is written now, so the words for it are in the input, and all others are kept.
    expect(page.locator("#turns [data-text]")).to_have_text(["Written on the phone."])
    expect(bench.field).to_have_value("Two.")
    quotes = bench.notices.locator("q")
    expect(quotes).to_have_text(["One.", "Three.", "In the middle of"])
    bench.reload()
    expect(bench.field).to_have_value("Two.")
    expect(quotes).to_have_text(["One.", "Three.", "In the middle of"])
    bench.notices.get_by_role("button", name="Put into the input").first.click()
    expect(bench.field).to_have_value("One.")
    expect(quotes).to_have_text(["Three.", "In the middle of", "Two."])
    assert utterances(anns_assignment) == ["Written on the phone."]


def test_a_text_that_the_server_refuses_is_explained_and_stays(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.field.fill("with a control\x07character")
    bench.submit()
    expect(bench.notices).to_contain_text("U+0007")
    expect(bench.field).to_have_value("with a control\x07character")
    assert turns_sent(anns_assignment) == 0


def test_a_text_that_is_too_long_is_not_sent(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.field.fill("长" * 2001)
    bench.submit()
    expect(bench.note).to_contain_text("Too long by 1 character.")
    expect(bench.rows).to_have_count(0)
    expect(bench.field).to_have_value("长" * 2001)


def test_a_lease_that_is_gone_is_explained_and_the_words_stay(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits(OPENING)
    somebody_else_takes(anns_assignment)
    bench.saves("Too late.")
    bench.submit()
    expect(bench.notices).to_contain_text("it has gone to somebody else")
    expect(bench.field).to_have_value("Too late.")
    expect(bench.kept_words).to_have_count(0)  # once is enough
    Task.objects.filter(pk=anns_assignment.task_id).update(open_slots=1)
    bench.notices.get_by_role("button", name="Resume it").click()
    expect(bench.notices).to_be_empty()
    bench.submit().stored(2)
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.ACTIVE


def test_words_typed_while_a_refusal_arrives_are_kept(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes, eventually: Eventually
) -> None:
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)
    on_its_way = hold_first(page, "**/turns/")
    with page.expect_request("**/turns/"):
        bench.type("At the desk.").submit()
    writes(anns_assignment, "On the phone.", 0)
    page.evaluate(
        "typed = 0; typing = setInterval(() => document.execCommand('insertText', false, `${++typed} `), 1)"
    )
    on_its_way[0].continue_()
    expect(bench.notices).to_contain_text("was already written")
    bench.stored(1)
    typed = page.evaluate("clearInterval(typing), typed")
    quotes = bench.notices.locator("[data-cause=aside] q")
    expect(quotes.first).to_have_text("At the desk.")

    def numbers() -> list[int]:
        rest = quotes.all_text_contents()[1:]
        return sorted(map(int, " ".join([*rest, bench.field.input_value()]).split()))

    eventually(lambda: numbers() == list(range(1, typed + 1)), "every number that was typed, once")


def test_a_refused_turn_that_was_undone_on_its_way_is_explained_and_stops_nothing(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits(OPENING)
    somebody_else_takes(anns_assignment)
    on_its_way = hold_first(page, "**/turns/")
    with page.expect_request("**/turns/"):
        bench.type("Too late.").submit()
    bench.press("Control+z")
    expect(bench.field).to_have_value("Too late.")
    on_its_way[0].continue_()
    expect(bench.notices).to_contain_text("it has gone to somebody else")
    expect(bench.field).to_have_value("Too late.")
    expect(bench.badge).to_be_hidden()
    Task.objects.filter(pk=anns_assignment.task_id).update(open_slots=1)
    bench.notices.get_by_role("button", name="Resume it").click()
    expect(bench.notices).not_to_contain_text("it has gone to somebody else")
    bench.field.focus()
    bench.submit().stored(2)
    assert utterances(anns_assignment) == [OPENING, "Too late."]


def test_a_refused_undo_brings_the_turn_back(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits(OPENING)
    somebody_else_takes(anns_assignment)
    bench.page.locator("#undo").click()
    expect(bench.notices).to_contain_text("it has gone to somebody else")
    bench.stored(1)
    assert bench.says() == [OPENING]
    expect(bench.field).to_have_value("")
    expect(bench.kept_words).to_have_count(0)  # they are in the turn


def test_signed_out_in_between(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    page: Page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    ann.set_password("a-new-one-entirely")
    ann.save()  # ends every session of hers
    bench.type(OPENING).submit()
    expect(bench.notices).to_contain_text("You are signed out.")
    expect(bench.badge).to_have_text("Sign in to send 1")
    bench.notices.get_by_role("button", name="Sign in").click()
    page.fill("[name=login]", "ann")
    page.fill("[name=password]", "a-new-one-entirely")
    bench.press("Enter")
    page.wait_for_url("**/a/*/")
    bench.ready().stored(1)
    assert utterances(anns_assignment) == [OPENING]


def test_signing_out_leaves_no_page_in_the_browser(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    page = signs_in(ann)
    Bench.open(page, anns_assignment).kept_for_offline()
    assert page.evaluate("caches.keys()") == ["lapidary"]
    page.locator(".user-button").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/**")
    eventually(lambda: page.evaluate(PAGES_IN_CACHES) == [], "caches without pages")


def test_time_and_clicks_are_sent_with_the_turn(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, project: Project
) -> None:
    opened = time.monotonic()
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits(OPENING)
    bench.press("1", "2", "Escape", "3").submit().stored(2)
    passed_ms = (time.monotonic() - opened) * 1000
    turn = Turn.objects.get(assignment=anns_assignment, position=1)
    assert [step["kind"] for step in turn.trace] == ["shown", "pick", "pick", "clear", "pick"]
    assert [step.get("source") for step in turn.trace if step["kind"] == "pick"] == [0, 1, 2]
    assert turn.idle_ms == 0
    assert 0 < turn.active_ms < passed_ms
