"""No answer is lost: without a network, on two devices, refused, while composing."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, Route, expect

from accounts.models import User
from annotation.labelling.models.labels import LabelDraft, Submission
from annotation.labelling.services.drafts import save_label_draft
from annotation.labelling.services.submissions import SentLabels, skip_task, submit_labels
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.assignment import save_for_later
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Membership, Project, Role
from tests.browser.conftest import ROUTED, SignedIn
from tests.browser.labelling import LabelBench, annotator, drafted, planned, stored, with_schema
from tests.browser.test_composing import press_enter, report_enter_after_the_composition
from tests.processes import wait_until

Eventually = Callable[[Callable[[], bool], str], None]
CLAIM = "**/labelling/claim/"
CHANGE_KEPT = """async (change) => {
  const kept = await caches.open("lapidary");
  while ((await kept.keys()).length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const key of await kept.keys()) {
    const was = await (await kept.match(key)).json();
    await kept.put(key, new Response(JSON.stringify({ ...was, ...change })));
  }
}"""
IS_KEPT = "async (id) => await caches.match(`/api/v1/labelling/${id}/`) !== undefined"
KEEP_PICTURE = """async () => {
  const picture = new OffscreenCanvas(3, 2);
  picture.getContext("2d").fillRect(0, 0, 3, 2);
  const kept = await caches.open("lapidary");
  await kept.put("/static/picture.png", new Response(await picture.convertToBlob({ type: "image/png" })));
}"""
HIGH = {"dialogue": {"verify": 0, "quality": 2}, "utterances": {}}


def with_one_ready(
    mara: User, signs_in: SignedIn, count: int, **options: Any
) -> tuple[Project, User, LabelBench]:
    """A dialogue is shown to ann, and the next one lies ready."""
    project = planned("diqad", mara, count=count)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann, **options), project)
    bench.press("n").with_ahead()
    wait_until_kept(bench.page, Assignment.objects.filter(annotator=ann).latest("pk").pk)
    return project, ann, bench


def wait_until_kept(page: Page, assignment: int, *, is_kept: bool = True) -> None:
    """wait_for_function would take the promise of an asynchronous function for its answer."""
    wait_until(lambda: page.evaluate(IS_KEPT, assignment) == is_kept, 10, f"kept: {is_kept}")


def claim_and_lose(route: Route) -> None:
    """The server carries it out, and its answer is lost."""
    route.fetch()
    route.abort()


def test_two_submissions_offline_survive_a_reload_and_arrive_once_in_order(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    _project, ann, bench = with_one_ready(mara, signs_in, 4)
    bench.kept_for_offline()
    first = bench.shown
    bench.page.context.set_offline(True)
    bench.press("2").submit()
    second = bench.shown
    assert second != first
    expect(bench.notices).to_contain_text("No connection.")
    bench.press("n")
    bench.reload()
    assert bench.shown == second
    expect(bench.answer("verify").locator("[aria-pressed=true]")).to_have_count(1)
    expect(bench.badge).to_have_text("1 waiting to send")
    bench.asks("quality").press("2").submit()
    expect(bench.nothing).to_contain_text("No more dialogues are stored in this browser.")
    expect(bench.nothing).to_contain_text("2 submissions wait here and are not lost.")
    bench.page.context.set_offline(False)
    eventually(lambda: len(stored(ann)) == 2, "both")
    assert [submission.assignment_id for submission in stored(ann)] == [first, second]
    assert Submission.objects.count() == 2
    assert all(submission.answers == HIGH for submission in stored(ann))
    bench.asks("verify")  # the next one came by itself
    expect(bench.badge).to_be_hidden()


def test_the_count_is_right_again_when_what_an_offline_reload_forgot_is_stored(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    _project, ann, bench = with_one_ready(mara, signs_in, 6)
    bench.kept_for_offline()
    first = bench.shown
    bench.press("2").submit().goes_on_from(first)
    eventually(lambda: len(stored(ann)) == 1, "the first")
    bench.press("n").with_ahead()
    wait_until_kept(bench.page, Assignment.objects.filter(annotator=ann).latest("pk").pk)
    bench.page.context.set_offline(True)
    bench.press("2").submit()
    expect(bench.notices).to_contain_text("No connection.")
    bench.reload()
    bench.press("n", "2").submit()
    bench.page.context.set_offline(False)
    eventually(lambda: len(stored(ann)) == 3, "all")
    expect(bench.page.locator("#progress")).to_have_text("3 of 6 labelled")


def test_answers_that_a_page_could_not_write_to_disk_before_it_went_away_are_sent_by_the_next(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    """The next dialogue is shown at once, the write takes a moment: who closes the tab in it loses nothing."""
    project = planned("diqad", mara, count=2)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    first = bench.press("n").with_ahead().shown
    bench.page.evaluate("IDBDatabase.prototype.transaction = () => ({ objectStore: () => ({ add() {} }) })")
    bench.press("2").submit()
    bench.goes_on_from(first)
    bench.reload()
    eventually(lambda: len(stored(ann)) == 1, "what the first page could not write")
    assert [(submission.assignment_id, submission.answers) for submission in stored(ann)] == [(first, HIGH)]
    assert not bench.page.evaluate("Object.keys(localStorage).filter((key) => key.includes('storing'))")


@pytest.mark.parametrize("answer", [{"status": 502}, None], ids=["a proxy without a server", "no answer"])
def test_prefetched_dialogues_are_used_while_the_server_is_down_and_the_network_up(
    mara: User, signs_in: SignedIn, eventually: Eventually, answer: dict[str, Any] | None
) -> None:
    _project, ann, bench = with_one_ready(mara, signs_in, 4, **ROUTED)
    first = bench.shown
    down = "**/api/v1/**"
    bench.page.route(down, lambda route: route.fulfill(**answer) if answer else route.abort())
    bench.reload()
    assert bench.shown == first
    bench.press("2").with_ahead().submit().goes_on_from(first)
    second = bench.shown
    bench.press("n", "2").submit()
    expect(bench.nothing).to_contain_text("No more dialogues are stored in this browser.")
    expect(bench.nothing).to_contain_text("2 submissions wait here and are not lost.")
    bench.page.unroute(down)
    eventually(lambda: len(stored(ann)) == 2, "both")
    assert [submission.assignment_id for submission in stored(ann)] == [first, second]
    bench.asks("verify")  # the next one came by itself


def test_the_first_dialogue_comes_by_itself_when_the_server_is_back(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=1)
    page = signs_in(annotator("ann", project), **ROUTED)
    down = "**/labelling/claim/"
    page.route(down, lambda route: route.fulfill(status=503))
    bench = LabelBench.open(page, project)
    expect(bench.nothing).to_contain_text("No more dialogues are stored in this browser.")
    page.unroute(down)
    bench.asks("verify")


def test_retrying_often_still_uses_one_timer_while_the_server_is_down(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=1)
    page = signs_in(annotator("ann", project), **ROUTED)
    requests: list[str] = []

    def refuse(route: Route) -> None:
        requests.append(route.request.url)
        route.fulfill(status=502)

    page.route(CLAIM, refuse)
    bench = LabelBench.open(page, project)
    for _time in range(5):
        with page.expect_response(CLAIM):
            bench.press("n")
        page.wait_for_timeout(50)
    before = len(requests)
    page.wait_for_timeout(7_000)
    assert 1 <= len(requests) - before <= 2


def test_retrying_reports_a_server_that_went_down(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=1, overlap=1)
    claim_next_task(annotator=annotator("bob", project), project=project, claim_id=uuid4())
    page = signs_in(annotator("ann", project), **ROUTED)
    page.route(CLAIM, lambda route: route.fulfill(status=503))
    bench = LabelBench.open(page, project)
    expect(bench.nothing).to_contain_text("No more dialogues are stored in this browser.")
    page.unroute(CLAIM)
    expect(bench.nothing).to_contain_text("Others are working on everything that is left.")
    page.route(CLAIM, lambda route: route.fulfill(status=503))
    bench.press("n")
    expect(bench.nothing).to_contain_text("No more dialogues are stored in this browser.")


@pytest.mark.parametrize(
    "kept",
    [{"lease_until": "2020-01-01T00:00:00Z"}, {"schema": 99}],
    ids=["its lease is over", "its questions are not known here"],
)
def test_a_cached_dialogue_that_cannot_be_labelled_is_skipped_while_the_server_is_down(
    mara: User, signs_in: SignedIn, kept: dict[str, Any]
) -> None:
    _project, _ann, bench = with_one_ready(mara, signs_in, 3, **ROUTED)
    bench.page.evaluate(CHANGE_KEPT, kept)
    bench.page.route("**/api/v1/**", lambda route: route.fulfill(status=502))
    bench.reload()
    with bench.page.expect_response(CLAIM):
        bench.press("2")
    bench.submit()
    expect(bench.nothing).to_contain_text("No more dialogues are stored in this browser.")


def test_a_claim_whose_answer_was_lost_is_repeated_after_the_dialogue_at_hand(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project, ann, bench = with_one_ready(mara, signs_in, 5, **ROUTED)
    first = bench.shown
    bench.page.route("**/submissions/", lambda route: route.fulfill(status=502))
    bench.press("2").submit().goes_on_from(first)
    second = bench.shown

    bench.page.route(CLAIM, claim_and_lose)
    with bench.page.expect_event("requestfailed", lambda request: request.url.endswith("/claim/")):
        bench.page.goto(f"/p/{project.slug}/label/")
    bench.ready().goes_on_from(first)
    assert bench.shown == second
    with bench.page.expect_event("requestfailed", lambda request: request.url.endswith("/claim/")):
        bench.press("n", "2").submit()
    expect(bench.nothing).to_be_visible()
    for down in (CLAIM, "**/submissions/"):
        bench.page.unroute(down)
    eventually(lambda: len(stored(ann)) == 2, "both")
    bench.asks("verify")
    assert Assignment.objects.filter(annotator=ann).count() == 3


def test_a_claim_of_a_submitted_dialogue_is_replaced_by_another(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=4)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann, **ROUTED), project)

    bench.page.route(CLAIM, claim_and_lose)
    with bench.page.expect_event("requestfailed", lambda request: request.url.endswith("/claim/")):
        bench.press("n")
    bench.page.unroute(CLAIM)
    bench.page.route("**/api/v1/**", lambda route: route.fulfill(status=502))
    lost = Assignment.objects.filter(annotator=ann).latest("pk").pk
    bench.page.evaluate("caches.delete('lapidary')")
    bench = LabelBench.open(bench.page, project, lost)
    with bench.page.expect_response(CLAIM):
        bench.press("n", "2")
    bench.submit()
    expect(bench.nothing).to_be_visible()
    bench.page.unroute("**/api/v1/**")
    eventually(lambda: len(stored(ann)) == 1, "the submission")
    bench.asks("verify")


def test_a_claim_of_a_dialogue_that_was_skipped_elsewhere_is_replaced_by_another(
    mara: User, signs_in: SignedIn
) -> None:
    _project, ann, bench = with_one_ready(mara, signs_in, 3)
    first = bench.shown
    skipped = Assignment.objects.filter(annotator=ann).latest("pk")
    skip_task(annotator=ann, assignment_id=skipped.pk, reason="On the phone.")
    bench.reload()
    with bench.page.expect_response(CLAIM):  # the one of before the reload again
        bench.press("2")
    bench.submit().goes_on_from(first)
    assert bench.shown != skipped.pk


def test_a_cached_page_counts_later_submissions(mara: User, signs_in: SignedIn) -> None:
    _project, _ann, bench = with_one_ready(mara, signs_in, 4, **ROUTED)
    first = bench.shown
    kept = bench.page.request.get(bench.page.url)
    bench.page.route("**/api/v1/**", lambda route: route.abort())
    bench.press("2").submit().goes_on_from(first)
    bench.page.route("**/label/*/", lambda route: route.fulfill(response=kept))
    bench.reload()
    expect(bench.page.locator("#progress")).to_have_text("1 of 4 labelled")
    bench.page.unroute("**/label/*/")
    bench.reload()
    expect(bench.page.locator("#progress")).to_have_text("0 of 4 labelled")


def test_offline_work_keeps_the_time_floor(mara: User, signs_in: SignedIn, eventually: Eventually) -> None:
    project = planned("diqad", mara, count=3, min_seconds=2)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    bench.press("n").with_ahead()
    bench.page.context.set_offline(True)
    first = bench.shown
    bench.press("2").submit().goes_on_from(first)
    bench.press("n", "2").submit()
    expect(bench.nothing).to_be_visible()
    bench.page.context.set_offline(False)
    eventually(lambda: len(stored(ann)) == 2, "both, accepted")


def test_an_answer_that_is_lost_on_its_way_back_stores_nothing_twice(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=3)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann, **ROUTED), project)
    answers: list[int] = []

    def store_and_lose(route: object) -> None:
        answers.append(route.fetch().status)  # type: ignore[attr-defined]
        if len(answers) < 3:
            route.abort()  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    bench.page.route("**/submissions/", store_and_lose)
    bench.press("n").with_ahead().press("2").submit()
    bench.with_ahead()
    assert answers == [201, 200, 200]
    assert Submission.objects.count() == 1


def test_a_draft_survives_a_reload_and_is_found_on_a_second_device(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara)
    ann = annotator("ann", project)
    desk = LabelBench.open(signs_in(ann), project)
    desk.press("y", "1").reload().asks("reasons_1")
    desk.press("2", "Alt+n").type("Thin.")
    expect(desk.page.locator("#draft-state")).to_have_text("draft saved")
    own = Assignment.objects.get(pk=desk.shown)
    expected = {"verify": 1, "quality": 1, "reasons_1": ["less_informative"]}
    eventually(
        lambda: (
            (drafted(own)["dialogue"], LabelDraft.objects.get(assignment=own).note) == (expected, "Thin.")
        ),
        "the draft",
    )
    phone = LabelBench.open(signs_in(ann, viewport={"width": 360, "height": 740}), project, desk.shown)
    expect(phone.answer("quality").locator("[aria-pressed=true]")).to_contain_text("1")
    expect(phone.note).to_have_value("Thin.")


def test_a_draft_whose_sending_a_reload_interrupted_is_not_another_device(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara)
    ann = annotator("ann", project)
    desk = LabelBench.open(signs_in(ann, **ROUTED), project)
    own = Assignment.objects.get(pk=desk.shown)
    desk.page.route("**/draft/", lambda route: route.abort())
    with desk.page.expect_request("**/draft/") as cut_off:
        desk.press("y")
    desk.reload().asks("quality")
    body: dict[str, Any] = cut_off.value.post_data_json or {}
    desk.page.unroute("**/draft/")
    save_label_draft(annotator=ann, assignment_id=own.pk, **body)
    desk.press("1")
    expected = {"verify": 1, "quality": 1}
    eventually(lambda: drafted(own)["dialogue"] == expected, "the draft")
    expect(desk.notices).not_to_contain_text("another tab")


def test_two_devices_disagree_and_the_person_chooses(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara)
    ann = annotator("ann", project)
    desk = LabelBench.open(signs_in(ann), project)
    phone = LabelBench.open(signs_in(ann), project, desk.shown)
    desk.saves("y")
    phone.press("n")
    expect(phone.notices).to_contain_text("changed in another tab or on another device")
    phone.notices.get_by_role("button", name="Use the other answers").click()
    expect(phone.answer("verify").locator("[aria-pressed=true]")).to_contain_text("yes")
    own = Assignment.objects.get(pk=desk.shown)
    assert drafted(own)["dialogue"] == {"verify": 1}


def test_a_choice_between_answers_holds_for_its_dialogue_only(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=3)
    project.labelling.min_seconds = 20
    project.labelling.save()
    ann = annotator("ann", project)
    desk = LabelBench.open(signs_in(ann), project)
    first = desk.shown
    phone = LabelBench.open(signs_in(ann), project, first)
    desk.saves("y")
    phone.press("n", "2").submit()
    expect(phone.notices).to_contain_text("changed in another tab or on another device")
    expect(phone.task).not_to_contain_text("Submits in")
    expect(phone.page.locator("#floor")).to_be_hidden()
    phone.page.wait_for_timeout(1_000)  # after the shortest time for a dialogue
    assert (phone.shown, stored(ann)) == (first, [])
    phone.submit()
    expect(phone.page.locator("#toasts")).to_contain_text("first choose which answers count")
    phone.notices.get_by_role("button", name="Keep these").click()
    phone.submit().goes_on_from(first)
    expect(phone.notices).not_to_contain_text("another tab")
    eventually(lambda: [row.answers["dialogue"]["verify"] for row in stored(ann)] == [0], "the submission")


def test_a_refused_submission_comes_back_with_its_answers(
    mara: User, signs_in: SignedIn, project: Project, eventually: Eventually
) -> None:
    labelled = planned("diqad", mara, count=3)
    ann = annotator("ann", labelled)
    bench = LabelBench.open(signs_in(ann), labelled)
    first = bench.shown

    bench.press("n").with_ahead()
    roles = Membership.objects.filter(user=ann, project=labelled)
    roles.update(roles=[])
    bench.press("2", "Alt+n").type("Why.").submit()
    expect(bench.notices).to_contain_text("You are no longer an annotator of this project")
    expect(bench.badge).to_have_text("1 not stored")
    roles.update(roles=[Role.ANNOTATOR])
    bench.reload()
    bench.notices.get_by_role("button", name="Open it").click()
    expect(bench.note).to_have_value("Why.")
    assert bench.shown == first
    expect(bench.badge).to_be_hidden()
    bench.press("Escape").submit()
    eventually(lambda: len(stored(ann)) == 1, "the submission")
    assert stored(ann)[0].answers == HIGH


def test_a_refusal_is_shown_where_no_dialogue_comes_next(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    labelled = planned("diqad", mara, count=1)
    ann = annotator("ann", labelled)
    bench = LabelBench.open(signs_in(ann), labelled)
    roles = Membership.objects.filter(user=ann, project=labelled)
    roles.update(roles=[])
    bench.press("n", "2").submit()
    expect(bench.nothing).to_be_visible()
    expect(bench.notices.get_by_text("You are no longer an annotator of this project")).to_be_visible()
    expect(bench.page.locator("#today")).to_contain_text("20")  # it does not count
    roles.update(roles=[Role.ANNOTATOR])
    bench.notices.get_by_role("button", name="Open it").click()
    expect(bench.nothing).to_be_hidden()
    expect(bench.notices).to_be_empty()
    bench.submit()
    eventually(lambda: len(stored(ann)) == 1, "the submission")


def test_a_submission_undone_offline_is_stored_as_it_was_sent_last(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    _project, ann, bench = with_one_ready(mara, signs_in, 3)
    first = bench.shown
    bench.page.context.set_offline(True)
    bench.press("2").submit()
    bench.goes_on_from(first)
    bench.press("Control+z")
    bench.page.wait_for_function("shown => location.pathname.includes(`/${shown}/`)", arg=first)
    bench.press("ArrowUp").press("ArrowUp").asks("verify")
    bench.press("ArrowDown", "1", "1").submit()
    bench.page.context.set_offline(False)
    # Tried once while there was no network, the first may have arrived: then the second corrects it.
    eventually(
        lambda: [submission.answers["dialogue"]["quality"] for submission in stored(ann)] == [1],
        "the last word",
    )


def test_nothing_happens_while_an_input_method_composes(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara)
    text = {"en": "Why?", "zh": "为什么？"}
    with_schema(project, [{"key": "why", "scope": "dialogue", "kind": "text", "text": text}])
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    shown = bench.shown
    input_method = bench.page.context.new_cdp_session(bench.page)
    field = bench.answer("why").locator("textarea")
    field.focus()
    input_method.send("Input.imeSetComposition", {"text": "mao", "selectionStart": 3, "selectionEnd": 3})
    press_enter(input_method, modifiers=2)
    report_enter_after_the_composition(field, ctrl=True)
    input_method.send("Input.insertText", {"text": "猫"})
    expect(field).to_have_js_property("reported", True)
    assert bench.shown == shown
    bench.page.wait_for_timeout(300)
    press_enter(input_method, modifiers=2)
    eventually(lambda: len(stored(ann)) == 1, "the submission")
    assert stored(ann)[0].answers["dialogue"] == {"why": "猫"}


def test_options_are_not_chosen_by_the_digits_of_an_input_method(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    bench.press("n").asks("quality")
    input_method = bench.page.context.new_cdp_session(bench.page)
    digit = {"key": "2", "code": "Digit2", "windowsVirtualKeyCode": 229}
    input_method.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **digit})
    expect(bench.answer("quality").locator("[aria-pressed=true]")).to_have_count(0)


def test_a_skipped_dialogue_does_not_come_back_with_a_page_from_the_cache(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=3)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project).kept_for_offline()
    skipped = bench.shown
    bench.asks_to_skip().press("2", "Enter").goes_on_from(skipped)
    second = bench.shown
    bench.page.context.set_offline(True)
    bench.press("n", "2").submit()
    expect(bench.nothing).to_contain_text("No more dialogues are stored in this browser.")
    bench.reload()
    expect(bench.nothing).to_contain_text("1 submission waits here and is not lost.")
    bench.page.context.set_offline(False)
    eventually(lambda: [row.assignment_id for row in stored(ann)] == [second], "the submission")


def test_dialogues_that_the_person_no_longer_holds_leave_the_browser(mara: User, signs_in: SignedIn) -> None:
    _project, ann, bench = with_one_ready(mara, signs_in, 2)
    bench.kept_for_offline()
    ahead = Assignment.objects.filter(annotator=ann).latest("pk")
    wait_until_kept(bench.page, ahead.pk)  # it is written after it lies ready
    skip_task(annotator=ann, assignment_id=ahead.pk, reason="On the phone.")
    bench.reload()
    wait_until_kept(bench.page, ahead.pk, is_kept=False)
    bench.page.context.set_offline(True)
    bench.press("2").submit()
    expect(bench.nothing).to_contain_text("No more dialogues are stored in this browser.")


def test_what_another_tab_shows_stays_in_the_browser(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=4)
    ann = annotator("ann", project)
    saved, submitted, skipped = (
        claim_next_task(annotator=ann, project=project, claim_id=uuid4(), ahead=True) for _n in range(3)
    )
    save_for_later(annotator=ann, assignment_id=saved.pk)
    sent = SentLabels(id=uuid4(), schema=1, answers=HIGH)
    submit_labels(annotator=ann, assignment_id=submitted.pk, sent=sent)
    page = signs_in(ann, **ROUTED)
    for assignment in (saved, submitted, skipped):
        LabelBench.open(page.context.new_page(), project, assignment.pk)
    skip_task(annotator=ann, assignment_id=skipped.pk, reason="On the phone.")
    LabelBench.open(page, project)
    wait_until_kept(page, skipped.pk, is_kept=False)
    for assignment in (saved, submitted):
        wait_until_kept(page, assignment.pk)


def test_a_dialogue_whose_lease_could_be_renewed_again_is_kept_again(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=1)
    page = signs_in(annotator("ann", project), **ROUTED)
    page.clock.install()
    bench = LabelBench.open(page, project)
    wait_until_kept(page, bench.shown)
    refused = {"code": "lease_gone", "detail": "This dialogue is somebody else's.", "remedy": ""}
    page.route("**/renew/", lambda route: route.fulfill(status=409, json=refused))
    bench.press("n")
    page.clock.fast_forward("06:00")
    expect(bench.notices).to_contain_text("somebody else's")
    wait_until_kept(page, bench.shown, is_kept=False)
    page.unroute("**/renew/")
    bench.press("2")
    page.clock.fast_forward("06:00")
    wait_until_kept(page, bench.shown)
    expect(bench.notices).not_to_contain_text("somebody else's")


def test_a_picture_comes_from_the_cache_as_it_is(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project).kept_for_offline()
    bench.page.evaluate(KEEP_PICTURE)
    bench.page.context.set_offline(True)
    bench.page.goto("/static/picture.png")
    bench.page.wait_for_function("document.images[0]?.naturalWidth === 3")


def test_a_dialogue_saved_for_later_is_not_shown_by_a_page_from_the_cache(
    mara: User, signs_in: SignedIn
) -> None:
    project = planned("diqad", mara, count=2)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project).kept_for_offline()
    saved = bench.shown
    bench.press("y").with_ahead().press("Control+s")
    bench.page.wait_for_url("**/queue/")
    bench.page.context.set_offline(True)
    bench.page.goto(f"/p/{project.slug}/label/")
    bench.ready().goes_on_from(saved)
    expect(bench.answer("verify").locator("[aria-pressed=true]")).to_have_count(0)


def test_a_page_from_the_cache_shows_the_newest_draft(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=2)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    bench.saves("y")
    bench.reload().kept_for_offline().asks("quality").press("1")
    own = Assignment.objects.get(pk=bench.shown)
    eventually(lambda: drafted(own)["dialogue"] == {"verify": 1, "quality": 1}, "the second draft")
    expect(bench.page.locator("#draft-state")).to_have_text("draft saved")
    bench.page.context.set_offline(True)
    bench.reload()
    expect(bench.answer("quality").locator("[aria-pressed=true]")).to_contain_text("1")
    expect(bench.notices).not_to_contain_text("another tab")
