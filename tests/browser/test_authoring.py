"""Writing a dialogue from the first key to the last."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.authoring.services.completion import finish_dialogue
from annotation.expert_review.services import submit_verdict
from annotation.tasks.models.work import Assignment, AssignmentState
from dialogues.models import Action, Utterance
from generation.models import Generator
from projects.models import Project
from tests.browser.bench import Bench, actions, turns_sent, utterances
from tests.browser.conftest import SignedIn

Eventually = Callable[[Callable[[], bool], str], None]
LOADS_MS = 600_000  # a worker that is asked for the demo model for the first time
MODELS = ["scripted", pytest.param("demo", marks=pytest.mark.slow)]


@pytest.mark.parametrize("model", MODELS)
def test_seven_rounds_by_keyboard_only(
    planned: Project, ann: User, signs_in: SignedIn, model: str, eventually: Eventually
) -> None:
    if model == "demo":
        planned.authoring.generator = None
        planned.authoring.save()
    page = signs_in(ann)
    bench = Bench(page)
    page.goto("/")
    bench.press("n")  # the most urgent step: write
    page.wait_for_url("**/queue/")
    bench.press("n")
    page.wait_for_url("**/a/*/")
    bench.ready().press("2").submit().stored(1)  # an idea, as it is
    for turn in range(1, 14):
        expect(bench.places.first).to_be_visible(timeout=LOADS_MS)
        if turn % 3 == 1:
            bench.press("1").submit()
        elif turn % 3 == 2:
            bench.press("1", "End").type(" Really?").submit()
        else:
            bench.type(f"I would put it in my own words, number {turn}.").submit()
        bench.stored(turn + 1)
    bench.press("Control+Shift+Enter")
    asked = page.get_by_role("button", name="Finish anyway")  # a model may have said something twice
    expect(asked.or_(page.get_by_text("7 rounds, submitted."))).to_be_visible()
    if asked.is_visible():
        bench.press("Tab", "Enter")
    expect(page.get_by_text("7 rounds, submitted.")).to_be_visible()
    expect(page.locator("#today")).to_have_text("1 of 20 dialogues today")
    written = Assignment.objects.get(annotator=ann)
    assert written.state == AssignmentState.SUBMITTED
    assert utterances(written) == bench.says()
    assert actions(written) == [
        Action.REWRITE,
        *[{1: Action.SELECT, 2: Action.REVISE, 0: Action.REWRITE}[turn % 3] for turn in range(1, 14)],
    ]
    bench.press("Enter")  # the next dialogue is one key away
    page.wait_for_url(lambda url: f"/a/{written.pk}/" not in url)
    eventually(lambda: Assignment.objects.filter(annotator=ann).count() == 2, "the next claim")


def test_every_candidate_set_is_kept_with_what_was_chosen(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    candidates = bench.says_and_waits("My cat sheds all over the sofa.")
    bench.press("3").submit().stored(2)
    turn = Utterance.objects.select_related("candidate_set").get(
        dialogue=anns_assignment.dialogue, position=1
    )
    assert turn.candidate_set is not None
    assert [candidate["text"] for candidate in turn.candidate_set.candidates] == candidates
    assert (turn.text, turn.source) == (candidates[2], 2)


@pytest.mark.parametrize(
    ("edit", "action", "distance"),
    [
        ([], Action.SELECT, 0),
        (["End", " ", "Backspace"], Action.SELECT, 0),
        (["End", "!"], Action.REVISE, 1),
        (["Control+a", "x"], Action.REVISE, None),
    ],
)
def test_the_text_decides_about_the_action(
    anns_assignment: Assignment,
    ann: User,
    signs_in: SignedIn,
    edit: list[str],
    action: Action,
    distance: int | None,
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits("My cat sheds all over the sofa.")
    bench.press("5", *edit)
    expect(bench.note).to_contain_text("from 5")
    expect(bench.note).to_contain_text({"select": "select", "revise": "revise"}[action])
    bench.submit().stored(2)
    stored = Utterance.objects.get(turn__assignment=anns_assignment, position=1)
    assert (stored.action, stored.source) == (action, 4)
    assert distance is None or stored.edit_distance == distance


def test_a_typed_text_that_equals_a_candidate_is_a_selection(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    candidates = bench.says_and_waits("My cat sheds all over the sofa.")
    bench.field.fill(f"  {candidates[6]} ")
    bench.submit().stored(2)
    stored = Utterance.objects.get(turn__assignment=anns_assignment, position=1)
    assert (stored.action, stored.source) == (Action.SELECT, 6)


def test_an_emptied_input_starts_over(anns_assignment: Assignment, ann: User, signs_in: SignedIn) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits("My cat sheds all over the sofa.")
    bench.press("5", "Escape").type("Quite different.").submit().stored(2)
    assert Utterance.objects.get(turn__assignment=anns_assignment, position=1).action == Action.REWRITE


def test_changes_are_marked(anns_assignment: Assignment, ann: User, signs_in: SignedIn) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits("春天我家猫开始掉毛了")
    bench.press("2", "End").type("就好啦")
    expect(page.locator("[data-changes] ins")).to_have_text("就好啦")
    expect(bench.note).to_contain_text("3 changed")


def test_new_candidates_and_back_to_the_first(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    first = bench.says_and_waits("My cat sheds all over the sofa.")
    bench.press("Alt+r")
    expect(page.get_by_label("Sets of this turn")).to_have_value("1")
    second = bench.candidates()
    assert second != first
    page.get_by_label("Sets of this turn").select_option("0")
    assert bench.candidates() == first
    bench.reload()
    page.get_by_label("Sets of this turn").select_option("0")
    expect(page.locator("#candidates [data-place] [data-text]").first).to_have_text(first[0])
    bench.field.focus()
    bench.press("2")
    expect(bench.note).to_contain_text("from 2 of set 1")
    bench.submit().stored(2)
    turn = Turn.objects.get(assignment=anns_assignment, position=1)
    chosen_among = turn.provenance.candidate_set
    assert chosen_among is not None
    assert chosen_among.candidates[1]["text"] == first[1]
    kinds = [step["kind"] for step in turn.trace]
    assert kinds.count("pick") == 1
    assert "new_set" in kinds


def test_undo_takes_the_turn_back_into_the_input(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    first = bench.says_and_waits("My cat sheds all over the sofa.")
    bench.press("4", "End").type(" Yes.").submit().stored(2)
    bench.candidates()
    bench.press("Control+z")
    expect(bench.field).to_have_value(f"{first[3]} Yes.")
    expect(bench.note).to_contain_text("from 4")
    eventually(lambda: utterances(anns_assignment) == ["My cat sheds all over the sofa."], "the undo")
    assert bench.candidates() == first
    bench.submit().stored(2)
    assert actions(anns_assignment)[1] == Action.REVISE
    assert turns_sent(anns_assignment) == 3


def test_undo_typing_comes_before_undo_turn(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits("My cat sheds all over the sofa.")
    bench.type("Hm")
    bench.press("Escape", "Control+z")
    expect(bench.field).to_have_value("Hm")
    bench.press("Control+z")
    expect(bench.field).to_have_value("")
    assert bench.says() == ["My cat sheds all over the sofa."]
    bench.press("Control+z")
    expect(bench.field).to_have_value("My cat sheds all over the sofa.")
    assert bench.says() == []


def test_start_over_can_be_undone(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits("My cat sheds all over the sofa.")
    bench.press("1").submit().stored(2)
    before = bench.says()
    start_over(bench)
    page.get_by_role("dialog", name="Discard 2 turns?").get_by_role("button", name="Start over").click()
    expect(bench.rows).to_have_count(0)
    eventually(lambda: utterances(anns_assignment) == [], "the reset")
    page.get_by_role("button", name="Put back").click()
    bench.stored(2)
    assert utterances(anns_assignment) == bench.says() == before


@pytest.mark.parametrize("key", ["Escape", "Enter"])
def test_start_over_asks_first_and_the_first_key_keeps_the_turns(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, key: str
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits("My cat sheds all over the sofa.")
    question = page.get_by_role("dialog", name="Discard 1 turn?")
    start_over(bench)
    expect(question).to_be_visible()
    bench.press(key)
    expect(question).to_be_hidden()
    more = page.get_by_role("button", name="More", exact=True)
    expect(more).to_be_focused()
    assert bench.says() == ["My cat sheds all over the sofa."]
    bench.press("Enter", "Tab", "Tab", "Enter")  # the menu again, its second line
    expect(question).to_be_visible()
    bench.press("Tab", "Enter")
    expect(bench.rows).to_have_count(0)
    expect(more).to_be_focused()


def test_an_empty_dialogue_is_started_over_without_a_question(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    with page.expect_response("**/reset/"):
        start_over(bench)
    expect(page.get_by_role("dialog")).to_have_count(0)


def start_over(bench: Bench) -> None:
    bench.page.get_by_role("button", name="More", exact=True).click()
    bench.page.get_by_role("button", name="Start over…").click()


def test_saved_work_is_looked_at_and_resumed_by_the_next_turn(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits("My cat sheds all over the sofa.")
    bench.press("Control+s")
    page.wait_for_url("**/queue/")
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.SAVED
    bench.press("r")
    page.wait_for_url("**/a/*/")
    bench.ready()
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.SAVED
    bench.says_and_waits("She is white, and the sofa is black.")
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.ACTIVE


def test_give_back_with_a_reason(anns_assignment: Assignment, ann: User, signs_in: SignedIn) -> None:
    page = signs_in(ann)
    Bench.open(page, anns_assignment)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Give back…").click()
    page.get_by_label("Why").fill("I know nothing about cats.")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/queue/")
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.RELEASED


def test_the_next_seven_are_there_at_once_when_the_draft_has_rested(
    anns_assignment: Assignment,
    ann: User,
    signs_in: SignedIn,
    scripted_generator: Generator,
    eventually: Eventually,
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.field.fill("My cat sheds all over the sofa.")
    ahead = anns_assignment.dialogue.candidate_requests
    eventually(lambda: ahead.filter(state="done").exists(), "the set made ahead")
    assert ahead.get().wanted_at is None
    bench.submit().stored(1)
    bench.candidates()
    expect(bench.page.locator("[data-status]")).to_contain_text("Ready at once")
    assert ahead.count() == 1


def test_an_idea_can_be_changed_for_another_by_its_digit(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    ideas = bench.shown_candidates()
    bench.press("1", "2")
    expect(bench.field).to_have_value(ideas[1])
    bench.press("Alt+r")
    assert bench.shown_candidates() != ideas


def test_undoing_two_turns_loses_the_words_of_neither(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.says_and_waits("One.")
    bench.says_and_waits("Two.")
    bench.press("Control+z", "Control+z")
    expect(bench.field).to_have_value("One.")
    expect(bench.notices.locator("q")).to_have_text(["Two."])
    eventually(lambda: utterances(anns_assignment) == [], "both undone")
    bench.page.wait_for_load_state("networkidle")  # both answers have arrived
    expect(bench.field).to_have_value("One.")
    expect(bench.notices.locator("q")).to_have_text(["Two."])


def test_unsent_words_are_not_left_behind_by_finishing(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    anns_assignment.project.authoring.min_rounds = 1
    anns_assignment.project.authoring.save()
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits("One.")
    bench.says_and_waits("Two.")
    bench.type("Thr").press("Control+Shift+Enter")
    expect(bench.note).to_contain_text("The input still holds unsent text.")
    bench.press("Escape", "Control+Shift+Enter")
    expect(page.get_by_text("1 round, submitted.")).to_be_visible()


def test_finishing_too_early_says_how_much_is_missing(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Callable[..., object]
) -> None:
    for position in range(10):
        writes(anns_assignment, f"utterance {position}", position)
    bench = Bench.open(signs_in(ann), anns_assignment).press("Control+Shift+Enter")
    expect(bench.note).to_contain_text("2 more rounds, then it can be finished.")


def test_finish_is_seen_from_the_first_turn_on_and_says_when_it_comes(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    bench = Bench.open(signs_in(ann), anns_assignment)
    finish = bench.page.locator("#finish")
    expect(finish).to_be_visible()
    expect(finish).to_have_attribute("aria-disabled", "true")
    expect(finish).to_have_attribute("title", "After 7 rounds")
    finish.click(force=True)  # it is off, and answers all the same
    expect(bench.note).to_contain_text("7 more rounds, then it can be finished.")
    bench.page.set_viewport_size({"width": 390, "height": 780})
    expect(finish).to_be_hidden()
    expect(bench.page.locator("#round")).to_have_text("Round 1 of 7")


def test_the_server_counts_dialogues_handed_in_today(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Callable[..., object]
) -> None:
    for position in range(14):
        writes(anns_assignment, f"utterance {position}", position)
    page, other = signs_in(ann), signs_in(ann)
    for browser in (page, other):
        bench = Bench.open(browser, anns_assignment)
    for browser in (page, other):  # both hand in the same one
        bench = Bench(browser).press("Control+Shift+Enter")
        expect(browser.locator("#finished")).to_be_visible()
        expect(browser.locator("#today")).to_have_text("1 of 20 dialogues today")
    expect(bench.page.locator("#candidates")).to_be_hidden()
    bench.page.locator("#take-back").click()
    expect(bench.page.locator("#candidates")).to_be_visible()
    expect(bench.page.locator("#today")).to_have_text("0 of 20 dialogues today")


def test_a_vetoed_dialogue_says_why_and_offers_no_way_back(
    anns_assignment: Assignment,
    ann: User,
    carlos: User,
    signs_in: SignedIn,
    writes: Callable[..., object],
) -> None:
    for position in range(14):
        writes(anns_assignment, f"utterance {position}", position)
    dialogue = finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk).dialogue
    submit_verdict(
        reviewer=carlos, dialogue_id=dialogue.pk, review_id=uuid4(), verdict="veto", reason="It wanders."
    )
    bench = Bench.open(signs_in(ann), anns_assignment)
    expect(bench.notices).to_contain_text("An expert vetoed this dialogue.")
    expect(bench.notices.get_by_role("button")).to_have_count(0)
    expect(bench.page.get_by_text("It wanders.")).to_be_in_viewport()
    expect(bench.page.locator("#round")).to_have_text("7 rounds")
    expect(bench.page.locator("#candidates")).to_be_hidden()


def test_warnings_before_finishing_can_be_overridden(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Callable[..., object]
) -> None:
    for position in range(14):
        writes(anns_assignment, "About始 isn't hot." if position == 3 else f"utterance {position}", position)
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    expect(page.locator("#composer .primary")).to_have_id("finish")
    bench.press("Control+Shift+Enter")
    expect(bench.notices).to_contain_text("Utterance 4 contains letters of another script.")
    bench.press("Enter")  # pressed as after other dialogues, it decides nothing
    expect(page.get_by_role("button", name="Finish anyway")).to_be_visible()
    bench.press("Tab", "Enter")
    expect(page.get_by_text("7 rounds, submitted.")).to_be_visible()
