"""Labelling dialogues by keyboard: what is pressed, what is shown, what is stored."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Route, expect

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, Schema, Stage, Submission
from annotation.labelling.services.resolution import decide_dispute
from annotation.labelling.services.submissions import SentLabels, serve, submit_labels
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from annotation.tasks.services.assignment import save_for_later
from annotation.tasks.services.claiming import claim_next_task
from common import clock
from dialogues.models import Utterance
from frontend.ui.icons import ICONS
from projects.models import Project
from tests.annotation.conftest import assigned
from tests.browser.bench import hold_first
from tests.browser.conftest import ROUTED, SignedIn
from tests.browser.labelling import (
    SPEAKERS,
    LabelBench,
    annotator,
    labelling_project,
    planned,
    said_by,
    stored,
    with_dialogues,
    with_schema,
)
from tests.processes import wait_until
from tests.sizes import DIALOGUES_BY_KEYBOARD

Eventually = Callable[[Callable[[], bool], str], None]
IS_OUTBOX_EMPTY = """() => new Promise((resolve) => {
  const opening = indexedDB.open("lapidary", 1);
  opening.onsuccess = () => {
    const count = opening.result.transaction("outbox").objectStore("outbox").count();
    count.onsuccess = () => { opening.result.close(); resolve(count.result === 0); };
  };
})"""

# What is pressed for a dialogue of four utterances, and what it means.
PRESETS = {
    "diqad": (
        ["y", "1", "1", "3", "Enter"],
        {
            "dialogue": {"verify": 1, "quality": 1, "reasons_1": ["incomplete", "less_proactive"]},
            "utterances": {},
        },
    ),
    "dch": (
        ["y", "n", "4", "y", "p", "1", "2", "3", "0"],
        {
            "dialogue": {"TS": 1, "TA": -1, "CS": 1, "HA": 1, "CA": 0},
            "utterances": {
                "0": {"nugget": "CNUG0"},
                "1": {"nugget": "CNUG"},
                "2": {"nugget": "HNUG*"},
                "3": {"nugget": "NAN"},
            },
        },
    ),
    "dialeval": (
        ["5", "3", "1", "1", "1", "2", "2"],
        {
            "dialogue": {"A": 2, "S": 0, "E": -2},
            "utterances": {
                "0": {"nugget": "CNUG0"},
                "1": {"nugget": "CNUG0"},
                "2": {"nugget": "HNUG"},
                "3": {"nugget": "HNUG"},
            },
        },
    ),
    "diamante-evaluation": (
        ["2", "1", "2", "0", "1"],
        {
            "dialogue": {"engagingness": 1},
            "utterances": {
                "1": {"coherence": 2, "informativeness": 1, "safety": 2},
                "3": {"coherence": 0, "informativeness": 0, "safety": 0},
            },
        },
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("preset", PRESETS)
def test_dialogues_by_keyboard_only(
    preset: str, language: str, mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned(preset, mara, count=DIALOGUES_BY_KEYBOARD)
    ann = annotator("ann", project)
    User.objects.filter(pk=ann.pk).update(language=language)
    ann.refresh_from_db()
    keys, answers = PRESETS[preset]
    bench = LabelBench.open(signs_in(ann), project)
    for n in range(DIALOGUES_BY_KEYBOARD):
        shown = bench.shown
        bench.press(*keys).submit()
        if n < DIALOGUES_BY_KEYBOARD - 1:
            bench.goes_on_from(shown)
    expect(bench.nothing).to_be_visible()
    eventually(lambda: len(stored(ann)) == DIALOGUES_BY_KEYBOARD, "every submission")
    for submission in stored(ann):
        assert submission.answers == answers
        assert submission.stage == Stage.LABEL
    expect(bench.nothing).to_contain_text({"en": "nothing more for you", "zh-hans": "没有更多"}[language])


def test_the_next_dialogue_lies_ready_and_is_shown_at_once(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=3)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann, **ROUTED), project)
    assert Assignment.objects.filter(annotator=ann).count() == 1  # who only looks takes nothing from others
    bench.press("y").with_ahead()
    first = bench.shown
    bench.press("2")
    bench.page.route("**/submissions/", lambda route: None)  # the server never answers
    bench.submit()
    bench.goes_on_from(first)
    bench.asks("verify")


def test_a_missing_answer_is_named_and_gets_the_focus(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    expect(bench.task).to_have_text("2 questions to answer")
    bench.press("ArrowDown", "1").submit()
    bench.asks("verify")
    expect(bench.answer("verify")).to_contain_text("Please answer this question.")
    bench.press("n").submit()
    bench.asks("reasons_1")
    expect(bench.answer("reasons_1")).to_contain_text("Please answer this question.")


TWO_OPTIONS = [{"value": n, "text": {"en": f"Option {n}", "zh": f"选项 {n}"}} for n in (0, 1)]


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ({"kind": "choices", "options": TWO_OPTIONS}, ["1"]),
        ({"kind": "choice", "options": TWO_OPTIONS}, ["1"]),
        ({"kind": "scale", "options": TWO_OPTIONS}, ["1"]),
        ({"kind": "slider"}, ["7"]),
        ({"kind": "text"}, ["x"]),
    ],
    ids=["choices", "choice", "scale", "slider", "text"],
)
def test_what_was_missing_is_no_longer_named_once_it_is_answered(
    question: dict[str, Any], keys: list[str], mara: User, signs_in: SignedIn
) -> None:
    project = labelling_project("diqad", mara)
    text = {"en": "How?", "zh": "怎样？"}
    with_schema(project, [{"key": "q", "scope": "dialogue", "text": text, **question}])
    with_dialogues(project, [[("a", "Hello.")]])
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    problem = bench.page.locator(".question-problem")
    bench.submit()
    expect(problem).to_have_count(1)
    bench.press(*keys)
    expect(bench.task).to_have_text("Everything is answered; you can submit.")
    expect(problem).to_have_count(0)


def test_moving_clearing_and_changing(mara: User, signs_in: SignedIn, eventually: Eventually) -> None:
    project = planned("diqad", mara, count=1)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    bench.press("y").asks("quality").press("k").asks("verify").press("Delete")
    expect(bench.answer("verify").locator("[aria-pressed=true]")).to_have_count(0)
    bench.press("n", "0").asks("reasons_0").press("1", "c", "Enter").press("ArrowUp").asks("reasons_0")
    bench.press("ArrowUp", "2")
    expect(bench.answer("reasons_0")).to_be_hidden()
    bench.press("ArrowUp").asks("quality").press("0").submit()  # what was chosen for 0 comes back with it
    eventually(lambda: len(stored(ann)) == 1, "the submission")
    assert stored(ann)[0].answers["dialogue"] == {"verify": 0, "quality": 0, "reasons_0": ["none"]}


def test_no_reason_and_a_reason_replace_each_other(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    bench.press("n", "0").asks("reasons_0")
    chosen = bench.answer("reasons_0").locator("[aria-pressed=true]")
    none = bench.answer("reasons_0").get_by_role("button", name="None")
    bench.press("1", "2")
    expect(chosen).to_have_count(2)
    none.click()
    expect(chosen).to_have_text(re.compile("None"))
    bench.press("1")
    expect(chosen).to_have_text(re.compile("No answer"))
    bench.press("Control+z")
    expect(chosen).to_have_text(re.compile("None"))


def test_the_mouse_works_everywhere(mara: User, signs_in: SignedIn, eventually: Eventually) -> None:
    project = planned("dch", mara, count=1)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    for path in ("TS", "TA", "CS", "HA", "CA"):
        bench.answer(path).locator(".option").first.click()
    for position in range(4):
        bench.asks(f"{position}/nugget")
        bench.page.locator("#turns .option").first.click()
    bench.answer("1/nugget").locator(".chip").click()
    bench.page.locator("#turns .option").nth(1).click()
    bench.page.locator("#submit").click()
    eventually(lambda: len(stored(ann)) == 1, "the submission")
    assert stored(ann)[0].answers["utterances"]["0"] == {"nugget": "CNUG0"}
    assert stored(ann)[0].answers["utterances"]["1"] == {"nugget": "CNUG"}


def test_equal_labels_of_one_speaker_are_one_bracket_with_its_word(mara: User, signs_in: SignedIn) -> None:
    project = planned("dch", mara, count=1, utterances=6)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    bench.press("y", "y", "5", "y", "y")

    def pieces() -> list[str | None]:
        return [bench.answer(f"{n}/nugget").get_attribute("data-piece") for n in range(6)]

    bench.asks("0/nugget").press("2", "2", "2", "0")
    assert pieces() == ["first", "last", "only", None, None, None]
    expect(bench.answer("0/nugget")).to_contain_text("CNUG")
    bench.press("3", "3")  # the goal, beside the helpdesk's utterances
    assert pieces()[4:] == ["first", "last"]
    bench.answer("1/nugget").locator(".chip").click()
    bench.press("3")
    assert pieces()[:2] == ["only", "only"]
    expect(bench.notices).to_contain_text("customer has 2 goal nuggets")
    assert sign_of(bench) in ICONS["alert"]


def test_an_answer_that_follows_from_another_is_set_and_locked(mara: User, signs_in: SignedIn) -> None:
    project = planned("diamante-evaluation", mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    bench.asks("1/coherence").press("0").asks("3/coherence")
    expect(bench.answer("1/safety").locator(".chip")).to_be_disabled()
    expect(bench.answer("1/safety")).to_contain_text("follows from the other answers")


def test_sliders_start_unset_and_texts_are_typed(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = labelling_project("diqad", mara)
    text = {"en": "How fun?", "zh": "有趣吗？"}
    ends = {"low": {"en": "not at all", "zh": "毫无"}, "high": {"en": "very", "zh": "非常"}}
    with_schema(
        project,
        [
            {"key": "fun", "scope": "dialogue", "kind": "slider", "text": text, **ends},
            {"key": "dull", "scope": "dialogue", "kind": "slider", "text": text, **ends},
            {"key": "why", "scope": "dialogue", "kind": "text", "text": text},
        ],
    )
    with_dialogues(project, [[("a", "Hello.")]])
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    expect(bench.answer("fun").locator("output")).to_have_text("–")
    bench.press("Enter").asks("dull").press("ArrowUp").asks("fun")
    bench.press("7", "5", "ArrowRight", "PageUp")
    expect(bench.answer("fun").locator("output")).to_have_text("86")
    bench.press("Enter").asks("dull").press("Home", "Enter").asks("why")
    bench.type("1 word, j and k\n").press("Escape", "ArrowUp").asks("dull")
    bench.submit()
    eventually(lambda: len(stored(ann)) == 1, "the submission")
    assert stored(ann)[0].answers["dialogue"] == {"fun": 86, "dull": 0, "why": "1 word, j and k\n"}


def test_guidelines_and_examples_behind_one_key(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    bench.press("n").asks("quality").press("g")
    expect(bench.answer("quality").locator(".guide")).to_contain_text("private data")
    example = bench.page.locator(".guide q").first  # examples have quotation marks of their own
    assert example.evaluate("example => getComputedStyle(example).quotes") == "none"
    bench.press("g")
    expect(bench.page.locator(".guide")).to_have_count(0)


def test_a_submission_before_the_minimum_time_can_be_cancelled(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=2, min_seconds=50)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    expect(bench.page.locator("#floor")).to_contain_text("At least 50 s")
    bench.press("n", "2")
    button = bench.page.locator("#submit")
    before = button.bounding_box()
    bench.submit()
    expect(bench.task).to_contain_text("Submits in 0:")
    expect(bench.task).not_to_contain_text("you can submit")
    assert button.bounding_box() == before
    bench.press("Escape")
    expect(bench.task).to_have_text("Everything is answered; you can submit.")
    expect(bench.page.locator("#skip")).to_be_visible()
    assert stored(ann) == []


def test_a_submission_before_the_minimum_time_waits(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=2, min_seconds=3)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    first = bench.shown
    bench.press("n", "2").submit().goes_on_from(first)
    eventually(lambda: len(stored(ann)) == 1, "the submission, after its time")
    bench.press("n", "2").submit()  # the second has a floor of its own
    eventually(lambda: len(stored(ann)) == 2, "the second submission")
    earlier, later = stored(ann)
    assert earlier.served_at is not None
    assert later.served_at is not None
    assert (later.served_at - earlier.served_at).total_seconds() >= 2.5
    assert (later.stored_at - later.served_at).total_seconds() >= 2.5


def test_undo_takes_back_answers_then_the_submission_as_a_revision(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=3)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    first = bench.shown
    bench.press("y", "Control+z").asks("verify").press("y").with_ahead().press("2").submit()
    eventually(lambda: len(stored(ann)) == 1, "the submission")
    second = bench.shown
    bench.press("n", "Control+z", "Control+z")
    expect(bench.page.locator("#stage")).to_have_text("Revise")
    assert bench.shown == first
    expect(bench.answer("quality").locator("[aria-pressed=true]")).to_contain_text("high")
    bench.press("ArrowUp", "ArrowUp").asks("verify").press("n").submit()
    eventually(lambda: Submission.objects.filter(annotator=ann).count() == 2, "the revision")
    assert bench.shown == second
    (live,) = stored(ann)
    assert (live.revision, live.answers["dialogue"]["verify"]) == (2, 0)


def test_previous_submissions_are_listed_and_reopened(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=3)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    first = bench.shown
    bench.press("n").with_ahead().press("2").submit()
    eventually(lambda: len(stored(ann)) == 1, "the submission")
    bench.reload().press("Control+Shift+p")
    sheet = bench.page.locator("#previous")
    expect(sheet.locator("li")).to_have_count(1)
    opening = Utterance.objects.get(dialogue__assignments=first, position=0).text
    expect(sheet.locator("[data-opening]")).to_have_text(opening)
    expect(sheet.locator("[data-answers]")).to_contain_text(re.compile(r"verify: .+ · quality: .+"))
    expect(sheet.locator("[data-revision]")).to_be_hidden()
    tops = [sheet.locator(part).bounding_box() for part in ("time", "button:has-text('Open')")]
    assert all(tops)
    (time, button) = [(box["y"], box["y"] + box["height"]) for box in tops if box]
    assert button[0] < sum(time) / 2 < button[1]  # on one line
    sheet.get_by_role("button", name="Open").click()
    expect(bench.page.locator("#stage")).to_have_text("Revise")
    assert bench.shown == first


def test_skipping_with_a_reason_opens_the_next_dialogue(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=3)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    first = bench.shown
    bench.asks_to_skip().press("2", "Enter")
    bench.goes_on_from(first)
    assert Assignment.objects.get(pk=first).state == AssignmentState.RELEASED


def labelled_differently(mara: User) -> tuple[Project, User, User]:
    """A dialogue that ann finds incomplete and bob good, so that both have to confirm."""
    project = planned("diqad", mara, count=3, overlap=2)
    ann, bob = annotator("ann", project), annotator("bob", project)
    for person, given in ((ann, {"quality": 1, "reasons_1": ["incomplete"]}), (bob, {"quality": 2})):
        claimed = claim_next_task(annotator=person, project=project, claim_id=uuid4())
        serve(assignment=claimed)
        answers = {"dialogue": {"verify": 0, **given}, "utterances": {}}
        labels = SentLabels(id=uuid4(), schema=1, answers=answers)
        submit_labels(annotator=person, assignment_id=claimed.pk, sent=labels)
    return project, ann, bob


def test_whoever_takes_the_other_answer_sees_and_takes_its_reason(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project, _ann, bob = labelled_differently(mara)
    bench = LabelBench.open(signs_in(bob), project)
    bench.press("Alt+c").asks("quality")
    expect(bench.answer("reasons_1")).to_be_hidden()
    bench.press("t").asks("reasons_1")
    expect(bench.answer("reasons_1").locator(".theirs")).to_contain_text("The other answer: Incomplete")
    bench.press("t").submit()
    taken = {"verify": 0, "quality": 1, "reasons_1": ["incomplete"]}
    eventually(lambda: [row.answers["dialogue"] for row in stored(bob)] == [taken], "the confirmation")


@pytest.mark.parametrize(("preset", "shown"), [("diqad", ["用户", "助手"]), ("dch", ["客户", "客服"])])
def test_well_known_roles_are_shown_in_the_language_of_the_reader(
    preset: str, shown: list[str], mara: User, signs_in: SignedIn
) -> None:
    said = [*said_by(preset, utterances=4), ("Zhao Yi", "Hello.")]
    project = with_dialogues(labelling_project(preset, mara), [said])
    ann = annotator("ann", project)
    for language, first, second in (("en", *SPEAKERS[preset]), ("zh-hans", *shown)):
        User.objects.filter(pk=ann.pk).update(language=language)
        bench = LabelBench.open(signs_in(User.objects.get(pk=ann.pk)), project)
        names = bench.turns.locator(".turn-speaker").all_inner_texts()
        assert list(dict.fromkeys(names)) == [first, second, "Zhao Yi"]


def test_confirmations_are_offered_as_soon_as_the_page_is_loaded(mara: User, signs_in: SignedIn) -> None:
    project, ann, _bob = labelled_differently(mara)
    bench = LabelBench.open(signs_in(ann), project)
    button = bench.page.locator("header [data-confirm]")
    expect(button).to_have_text("1 to confirm")
    bench.press("Alt+c")
    expect(bench.page.locator("#stage")).to_have_text("Confirm")


def test_more_confirmations_than_a_page_of_the_api_are_all_counted(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=51)
    ann = annotator("ann", project)
    Task.objects.filter(project=project).update(state=TaskState.CONFIRMING, open_slots=0)
    tasks = Task.objects.filter(project=project)
    assigned(tasks, [ann], state=AssignmentState.SUBMITTED, submitted_at=clock.now())
    bench = LabelBench.open(signs_in(ann), project)
    expect(bench.nothing).to_be_visible()
    expect(bench.page.locator("header [data-confirm]")).to_have_text("51 to confirm")


@pytest.mark.parametrize("leaves", ["reload", "close", "link", "sign out"])
def test_a_submission_that_waits_for_its_time_is_sent_by_whoever_leaves(
    mara: User, signs_in: SignedIn, eventually: Eventually, leaves: str
) -> None:
    # Signing out asks only while the submission still waits.
    project = planned("diqad", mara, count=3, min_seconds=20 if leaves == "sign out" else 10)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    first = bench.shown
    bench.press("n", "2").submit()
    expect(bench.task).to_contain_text("Submits in 0:")
    page = bench.page
    if leaves == "reload":
        bench.reload()
        assert bench.asks("verify").shown != first
    elif leaves == "close":
        page.close()
        page = bench.page.context.new_page()
        page.goto("/")
    elif leaves == "link":
        page.locator(".bar-project a").click()
        page.wait_for_url("**/queue/")
    else:
        page.locator(".user-button").click()
        page.locator("#user-menu").get_by_role("button", name="Sign out").click()
        expect(page.locator("#sign-out")).to_contain_text("1 piece of your work")
        page.get_by_role("button", name="Stay signed in").click()
    wait_until(lambda: len(stored(ann)) == 1, 20, "the submission, after its time")
    assert stored(ann)[0].assignment_id == first


def test_answers_sent_by_leaving_do_not_hide_newer_ones(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=3, min_seconds=4)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    first = bench.shown
    bench.press("n", "2").submit()
    bench.page.locator(".bar-project a").click()
    bench.page.wait_for_url("**/queue/")
    wait_until(lambda: len(stored(ann)) == 1, 20, "the submission, after its time")
    wait_until(lambda: bool(bench.page.evaluate(IS_OUTBOX_EMPTY)), 10, "the answer to the page")
    newer = {"dialogue": {"verify": 1, "quality": 2}, "utterances": {}}
    sent = SentLabels(id=uuid4(), schema=1, answers=newer, note="On the phone.")
    submit_labels(annotator=ann, assignment_id=first, sent=sent)
    bench = LabelBench.open(bench.page, project, first)
    expect(bench.note).to_have_value("On the phone.")
    expect(bench.answer("verify").locator("[aria-pressed=true]")).to_contain_text("yes")


def test_a_dialogue_that_was_just_sent_is_not_put_back_when_another_is_opened(
    mara: User, signs_in: SignedIn
) -> None:
    """The next dialogue needs questions that the page has yet to fetch, so the one that was sent is still shown."""
    project = planned("diqad", mara, count=4)
    ann = annotator("ann", project)
    earlier = claim_next_task(annotator=ann, project=project, claim_id=uuid4())
    serve(assignment=earlier)
    answers = {"dialogue": {"verify": 0, "quality": 2}, "utterances": {}}
    submit_labels(
        annotator=ann, assignment_id=earlier.pk, sent=SentLabels(id=uuid4(), schema=1, answers=answers)
    )
    bench = LabelBench.open(signs_in(ann, **ROUTED), project)
    sent = bench.shown
    with_schema(project, Schema.objects.get(project=project).content["questions"])
    bench.press("n").with_ahead()
    ahead = Assignment.objects.filter(annotator=ann).latest("pk").pk
    bench.page.route("**/submissions/", lambda route: route.fulfill(status=502))
    held: list[Route] = []
    bench.page.route("**/schemas/2/", lambda route: held.append(route))
    bench.press("2").submit().press("Control+Shift+p")
    bench.page.locator("#previous").get_by_role("button", name="Open").click()
    bench.page.wait_for_timeout(500)
    for route in held:
        route.continue_()
    bench.page.unroute("**/schemas/2/")
    bench.goes_on_from(sent)
    expect(bench.page.locator("#stage")).to_have_text("Revise")
    assert bench.shown == earlier.pk
    bench.submit().goes_on_from(earlier.pk)  # nothing was changed
    assert bench.shown == ahead


def test_a_message_about_one_dialogue_leaves_with_it(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=3)
    bench = LabelBench.open(signs_in(annotator("ann", project), **ROUTED), project)
    first = bench.press("n").with_ahead().shown
    failing = "**/save/"
    bench.page.route(failing, lambda route: route.fulfill(status=502))
    bench.press("Control+s")
    expect(bench.notices).to_contain_text("Nothing was changed")
    bench.press("2").submit().goes_on_from(first)
    expect(bench.notices).to_be_empty()


def test_skip_pressed_twice_leaves_one_dialogue(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=4)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann, **ROUTED), project)
    on_its_way = hold_first(bench.page, "**/skip/")
    first = bench.shown
    with bench.page.expect_request("**/skip/"):
        bench.asks_to_skip().press("2", "Enter")
    bench.press("Enter")
    on_its_way[0].continue_()
    bench.goes_on_from(first)
    second = bench.shown
    bench.press("y", "2").submit()
    eventually(lambda: len(stored(ann)) == 1, "the second dialogue's submission")
    assert stored(ann)[0].assignment_id == second


def test_a_dialogue_submitted_in_another_tab_is_not_offered_again(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=4)
    ann = annotator("ann", project)
    tab = LabelBench.open(signs_in(ann), project)
    other_tab = LabelBench.open(tab.page.context.new_page(), project)
    assert tab.shown == other_tab.shown
    first = tab.shown
    tab.press("y", "2").submit().goes_on_from(first)
    expect(other_tab.notices).to_contain_text("You submitted this dialogue in another tab.")
    expect(other_tab.page.locator("#stage")).to_have_text("Revise")
    other_tab.press("n", "0", "c").submit().goes_on_from(first)
    eventually(lambda: [row.revision for row in stored(ann)] == [2], "the revision")
    expect(other_tab.notices).not_to_contain_text("another tab")
    assert other_tab.shown != tab.shown


def test_save_for_later(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    saved = bench.shown
    bench.press("y", "Control+s")
    bench.page.wait_for_url("**/queue/")
    assert Assignment.objects.get(pk=saved).state == AssignmentState.SAVED


def test_two_people_confirm_each_seeing_the_other_nameless(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=1, overlap=2)
    ann, bob = annotator("ann", project), annotator("bob", project)
    anns, bobs = (LabelBench.open(signs_in(person), project) for person in (ann, bob))
    at_ann, at_bob = anns.shown, bobs.shown
    anns.press("n", "2", "Alt+n").type("It explains everything.").submit()
    eventually(lambda: len(stored(ann)) == 1, "ann's submission")
    bobs.press("n", "1", "1", "Enter").submit()
    eventually(lambda: len(stored(bob)) == 1, "bob's submission")
    task = Assignment.objects.get(pk=at_ann).task
    assert task.state == TaskState.CONFIRMING
    anns = LabelBench.open(anns.page, project, at_ann)
    bobs = LabelBench.open(bobs.page, project, at_bob)
    expect(anns.page.locator("#stage")).to_have_text("Confirm")
    bobs.asks("quality")
    expect(bobs.answer("quality")).to_contain_text("The other answer: 2")
    expect(bobs.page.locator("#questions")).to_contain_text("It explains everything.")
    assert "ann" not in bobs.page.locator("#panes").inner_text()
    bobs.submit()
    expect(bobs.answer("quality")).to_contain_text("Keep your answer or take the other one first.")
    bobs.press("t").submit()
    anns.asks("quality").press("m").submit()
    eventually(lambda: FinalLabel.objects.filter(task=task).exists(), "the final label")
    final = FinalLabel.objects.get(task=task, superseded_at=None)
    assert (final.origin, final.answers["dialogue"]["quality"]) == ("confirmed", 2)


def test_every_state_in_which_no_dialogue_comes_says_what_to_do(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=1, overlap=1)
    ann, bob = annotator("ann", project), annotator("bob", project)
    anns = LabelBench.open(signs_in(ann), project)
    bobs = LabelBench.open(signs_in(bob), project)
    expect(bobs.nothing).to_contain_text("Others are working on everything that is left")
    anns.press("n", "2").submit()
    expect(anns.nothing).to_contain_text("done")
    eventually(lambda: len(stored(ann)) == 1, "the submission, which is shown as sent before it is stored")
    bobs.press("n")  # look again
    expect(bobs.nothing).to_contain_text("done")


def test_an_annotator_who_holds_dialogues_does_not_read_that_all_is_done(
    mara: User, signs_in: SignedIn
) -> None:
    project = planned("diqad", mara, count=2, overlap=1)
    ann = annotator("ann", project)
    saved = claim_next_task(annotator=ann, project=project, claim_id=uuid4())
    save_for_later(annotator=ann, assignment_id=saved.pk)
    held = claim_next_task(annotator=ann, project=project, claim_id=uuid4())
    bench = LabelBench.open(signs_in(ann), project, held.pk)
    bench.press("n", "2").submit()
    expect(bench.nothing).to_contain_text("You still have 1 open dialogue")
    bench.nothing.get_by_role("link", name="To the open dialogues").click()
    expect(bench.page.locator("main")).to_contain_text("Saved for later")


def test_a_dialogue_that_a_trainer_decided_is_closed(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=1, overlap=2)
    ann = annotator("ann", project)
    held = [
        claim_next_task(annotator=person, project=project, claim_id=uuid4())
        for person in (ann, annotator("bob", project))
    ]
    for _time in range(2):
        for person, quality in zip(held, (2, "phone"), strict=True):
            answers = {"dialogue": {"verify": 0, "quality": quality}, "utterances": {}}
            labels = SentLabels(id=uuid4(), schema=1, answers=answers)
            serve(assignment=Assignment.objects.get(pk=person.pk))
            submit_labels(annotator=person.annotator, assignment_id=person.pk, sent=labels)
    decided = {"dialogue": {"verify": 0, "quality": 2}, "utterances": {}}
    decide_dispute(
        trainer=mara, task_id=held[0].task_id, decision_id=uuid4(), answers=decided, reason="It is good."
    )
    bench = LabelBench.open(signs_in(ann), project, held[0].pk)
    expect(bench.notices).to_contain_text("A trainer has decided this dialogue.")
    assert sign_of(bench) in ICONS["info"]  # nothing to be warned of
    expect(bench.page.locator("#submit")).to_be_disabled()


def sign_of(bench: LabelBench) -> str:
    """The drawing of the only sign of the notice."""
    expect(bench.notices.locator(".alert .icon")).to_have_count(1)
    return bench.notices.locator(".alert > .icon path").last.get_attribute("d") or ""


def test_an_answer_changes_as_little_of_a_long_page_as_of_a_short_one(mara: User, signs_in: SignedIn) -> None:
    """How long it takes is measured by benchmarks/labelling_page.py."""
    touched = {}
    for length in (20, 2000):
        project = planned("dch", mara, slug=f"dch-{length}", count=1, utterances=length)
        bench = LabelBench.open(signs_in(annotator("ann", project)), project)
        expect(bench.turns).to_have_count(length)
        bench.press("y", "y", "5", "y", "y").asks("0/nugget")
        bench.page.evaluate(
            """() => {
              window.touched = 0;
              const watch = new MutationObserver((seen) => { window.touched += seen.length; });
              watch.observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });
            }"""
        )
        bench.press(*["2"] * 8).asks("8/nugget")
        touched[length] = bench.page.evaluate("window.touched")
    assert 0 < touched[2000] < 2 * touched[20], touched  # the draft's state changes with the clock


def test_hostile_texts_are_shown_as_text(mara: User, signs_in: SignedIn) -> None:
    project = labelling_project("diqad", mara)
    texts = [
        ("user", "<img src=x onerror=alert(1)><b>bold</b>"),
        ("assistant", ""),
        ("user", "مرحبا بالعالم، كيف حالك؟"),
        ("assistant", "长" * 100_000),
        ("a speaker with a very long name indeed", "x" * 500),
    ]
    with_dialogues(project, [texts])
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    expect(bench.turns.first).to_contain_text("<img src=x onerror=alert(1)><b>bold</b>")
    expect(bench.turns.nth(1)).to_contain_text("(nothing was said)")
    bench.press("e")
    assert bench.turns.nth(3).locator(".turn-text").inner_text() == "长" * 100_000
    for width in (360, 1280, 2560):
        bench.page.set_viewport_size({"width": width, "height": 740})
        assert bench.page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_key_is_in_the_sheet(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    bench.press("?")
    sheet = bench.page.locator("#keys")
    for label in ("Next question", "Clear the answer", "Submit", "Undo the last", "Save for later", "Skip"):
        expect(sheet).to_contain_text(label)
