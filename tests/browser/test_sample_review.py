"""Controllers judge the sample of a batch by keyboard only: blind, open, two at once."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Judgement, Sample, SampleItem
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.sealing import seal_when_complete
from annotation.batch_review.services.verdicts import accept_round
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.models.rounds import Round
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Membership, Project, Role
from tests.annotation.batch_review.conftest import diqad_answers, seeded
from tests.browser.conftest import ROUTED, SignedIn, take_over
from tests.browser.labelling import annotator, planned
from tests.browser.screenshots import LAYOUT_PROBLEMS
from tests.browser.test_disputes import helpdesk
from tests.processes import Stack

Eventually = Callable[[Callable[[], bool], str], None]
KEYS = {2: "2", 1: "1", 0: "0"}  # of the preset's options

JUST_SHOWN_MS = 300  # in which a dialogue that has just come up is not agreed with


@pytest.fixture(autouse=True)
def _nobody_holds_anything() -> None:
    cache.clear()


def controller(name: str, project: Project) -> User:
    person = annotator(name, project)
    Membership.objects.filter(project=project, user=person).update(roles=[Role.CONTROLLER])
    return person


def drawn(
    manager: User,
    scores: list[int],
    *,
    utterances: int = 4,
    slug: str = "diqad",
    names: tuple[str, str] = ("anna", "carla"),
    **plan: Any,
) -> tuple[Sample, User]:
    """A sample of a batch that Anna labelled with these scores, drawn by Carla: 75 % of all of it have to be right."""
    project = planned("diqad", manager, count=len(scores), utterances=utterances, slug=slug, overlap=1)
    chosen = {"sample_size": 100, "overall_percent": 75, "class_percent": 0, "double_every": 0, **plan}
    BatchPlan.objects.create(project=project, question="quality", **chosen)
    cut_batches(project=project, actor=None, cut_id=uuid4(), groups=[])
    anna, carla = annotator(names[0], project), controller(names[1], project)
    for score in scores:
        held = claim_next_task(annotator=anna, project=project, claim_id=uuid4())
        sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(score))
        submit_labels(annotator=anna, assignment_id=held.pk, sent=sent)
    row = Round.objects.get(project=project)
    seal_when_complete(round_id=row.pk)
    with seeded(3):
        return draw_sample(controller=carla, round_id=row.pk, sample_id=uuid4()), carla


def opened(page: Page, sample: Sample) -> Page:
    batch = sample.round.batch
    page.goto(f"/p/{batch.project.slug}/batches/{batch.number}/sample/")
    page.wait_for_selector("html[data-ready]")
    return page


def agrees(page: Page) -> None:
    page.wait_for_timeout(JUST_SHOWN_MS)
    page.keyboard.press("y")


def two_judged_offline(mara: User, signs_in: SignedIn) -> tuple[Page, Sample]:
    """The first two of four labels are agreed with while there is no connection."""
    sample, carla = drawn(mara, [2, 2, 1, 2], is_blind=False)
    page = opened(signs_in(carla), sample)
    page.context.set_offline(True)
    agrees(page)
    agrees(page)
    expect(page.locator("#place")).to_have_text("3 of 4")
    return page, sample


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def labels(sample: Sample) -> list[int]:
    """In the order in which they are judged."""
    return [int(item.label) for item in SampleItem.objects.filter(sample=sample).order_by("place")]


def judgements(sample: Sample) -> list[Judgement]:
    rows = Judgement.objects.filter(item__sample=sample, superseded_at=None).select_related("controller")
    return list(rows.order_by("item__place"))


def cells(page: Page) -> list[str]:
    classes: list[str] = page.locator("#strip i").evaluate_all("all => all.map((one) => one.className)")
    return classes


def test_a_blind_judgement_comes_before_the_label(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    sample, carla = drawn(mara, [2, 2, 1, 2])
    first, _second, *rest = labels(sample)
    page = opened(signs_in(carla), sample)
    assert "final" not in page.content()
    expect(page.locator("#comparison")).to_be_hidden()
    expect(page.locator("#place")).to_have_text("1 of 4")
    press(page, KEYS[first], "Control+Enter")
    expect(page.locator("#comparison")).to_contain_text("The label is right.")
    press(page, "Enter")
    expect(page.locator("#place")).to_have_text("2 of 4")
    press(page, KEYS[0], "Control+Enter")
    expect(page.locator("#comparison")).to_contain_text("The label is wrong.")
    expect(page.locator("[data-path=quality] .spread")).to_contain_text("you")
    assert cells(page) == ["right", "wrong now", "", ""]
    press(page, "c")
    expect(page.locator("#comparison")).to_contain_text("your first judgement counts")
    press(page, "Escape")
    press(page, "Alt+n")
    page.keyboard.type("Nothing is answered.")
    press(page, "Control+Enter")
    expect(page.locator("#place")).to_have_text("3 of 4")
    for score in rest:
        press(page, KEYS[score], "Control+Enter")
        expect(page.locator("#comparison")).to_be_visible()
        press(page, "Enter")
    expect(page.locator("#end")).to_contain_text("The sample passes.")
    stored = judgements(sample)
    assert [judgement.is_right for judgement in stored] == [True, False, True, True]
    assert stored[1].reason == "Nothing is answered."
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/p/{sample.round.project.slug}/batches/1/")


def test_the_checked_question_comes_first(mara: User, signs_in: SignedIn) -> None:
    """Another question stands before it in the schema; it may be answered, and nothing waits for it."""
    sample, carla = drawn(mara, [2, 2])
    page = opened(signs_in(carla), sample)
    checked, unchecked = page.locator("[data-path=quality]"), page.locator("[data-path=verify]")
    expect(page.locator("#checked")).to_contain_text("Only this question is checked: Rate the quality")
    expect(checked).to_be_focused()
    expect(checked).not_to_contain_text("not checked")
    expect(unchecked.locator(".question-state")).to_have_text("not checked")
    press(page, "ArrowUp")
    expect(unchecked).to_be_focused()
    press(page, "n")
    expect(checked).to_be_focused()
    press(page, KEYS[2])
    expect(page.locator("#send")).to_be_focused()


def test_enter_does_not_lead_away_from_what_is_missing(mara: User, signs_in: SignedIn) -> None:
    sample, carla = drawn(mara, [2, 2])
    page = opened(signs_in(carla), sample)
    checked = page.locator("[data-path=quality]")
    press(page, "ArrowUp", "Control+Enter")
    expect(checked).to_be_focused()
    expect(checked).to_contain_text("Please answer this question.")
    press(page, "Enter")
    expect(checked).to_be_focused()
    expect(checked).to_contain_text("Please answer this question.")
    press(page, KEYS[2], "Enter")
    expect(page.locator("#comparison")).to_be_visible()


def test_a_judgement_is_reopened_and_corrected(mara: User, signs_in: SignedIn) -> None:
    sample, carla = drawn(mara, [2, 1, 2, 2])
    page = opened(signs_in(carla), sample)
    press(page, KEYS[0], "Control+Enter")
    expect(page.locator("#comparison")).to_be_visible()
    press(page, "c")
    expect(page.locator("[data-path=quality]")).to_have_attribute("data-active", "")
    press(page, "t", "Control+Enter")
    expect(page.locator("#place")).to_have_text("2 of 4")
    expect(page.locator("#strip i").first).to_have_class("wrong")
    press(page, "Control+z")
    expect(page.locator("#comparison")).to_contain_text("The label is wrong.")
    expect(page.locator("#comparison")).to_contain_text("The first judgement counts.")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    press(page, "Control+z")
    expect(page.locator("#comparison")).to_contain_text("The label is wrong.")
    expect(page.locator("#comparison")).to_contain_text("The first judgement counts.")
    press(page, "Enter")
    expect(page.locator("#place")).to_have_text("2 of 4")


def test_open_the_label_is_agreed_to_or_corrected_with_a_reason(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    sample, carla = drawn(mara, [2, 2, 1, 2], is_blind=False)
    _first, second, *_rest = labels(sample)
    page = opened(signs_in(carla), sample)
    expect(page.locator("#comparison")).to_contain_text("Label:")
    agrees(page)
    expect(page.locator("#place")).to_have_text("2 of 4")
    press(page, "n")
    press(page, KEYS[second], "Control+Enter")
    expect(page.locator("[data-path=quality]")).to_contain_text("This is the label itself")
    press(page, KEYS[0], "Control+Enter")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("It answers another question.")
    press(page, "Control+Enter")
    expect(page.locator("#place")).to_have_text("3 of 4")
    agrees(page)
    expect(page.locator("#place")).to_have_text("4 of 4")
    agrees(page)
    expect(page.locator("#end")).to_contain_text("All of the sample is judged")
    eventually(lambda: len(judgements(sample)) == 4, "the last judgement")
    stored = judgements(sample)
    assert [judgement.is_right for judgement in stored] == [True, False, True, True]
    assert stored[1].answers["dialogue"]["quality"] == 0
    assert stored[1].reason == "It answers another question."


def test_a_key_pressed_twice_judges_one_dialogue(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    sample, carla = drawn(mara, [2, 2, 1, 2], is_blind=False)
    page = opened(signs_in(carla), sample)
    page.wait_for_timeout(JUST_SHOWN_MS)
    # All four in one step, as a slow machine would otherwise spread them over more than the pause after a dialogue.
    page.evaluate(
        """() => {
            const agree = document.querySelector("[data-action=agree]");
            for (const _ of "yy") document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "y", bubbles: true}));
            agree.click();
            agree.click();
        }"""
    )
    expect(page.locator("#place")).to_have_text("2 of 4")
    eventually(lambda: len(judgements(sample)) == 1, "the one judgement")


def test_an_offline_judgement_outlives_the_tab(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    page, sample = two_judged_offline(mara, signs_in)
    second_tab = page.context.new_page()
    page.close()
    second_tab.context.set_offline(False)
    opened(second_tab, sample)
    eventually(lambda: len(judgements(sample)) == 2, "what waited")


def test_stopping_early_is_offered_when_the_rest_cannot_change_the_verdict(
    mara: User, signs_in: SignedIn
) -> None:
    sample, carla = drawn(mara, [2] * 8, overall_percent=90, is_blind=False)
    page = opened(signs_in(carla), sample)
    expect(page.locator("#sample-progress")).to_contain_text(
        "Accepted if every label left is right; returned with the first wrong one."
    )
    expect(page.locator("#stop")).to_be_hidden()
    press(page, "n", KEYS[0], "Alt+n")
    page.keyboard.type("Too thin.")
    press(page, "Control+Enter")
    expect(page.locator("#sample-progress")).to_contain_text("The sample can no longer pass.")
    press(page, "Alt+v")
    page.wait_for_url(f"**/p/{sample.round.project.slug}/batches/1/")


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_the_way_to_the_verdict_fits_its_pane(mara: User, signs_in: SignedIn, locale: str) -> None:
    sample, carla = drawn(mara, [2] * 8, overall_percent=90)
    first = SampleItem.objects.filter(sample=sample).earliest("place")
    judge(controller=carla, item_id=first.pk, sent=SentJudgement(id=uuid4(), answers=diqad_answers(0)))
    page = opened(signs_in(carla, locale=locale), sample)
    for width in (320, 390, 700, 900, 1280, 1366, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator("#stop")).to_be_visible()
        assert page.evaluate(LAYOUT_PROBLEMS) == [], width


def test_the_outlook_names_the_class_that_allows_no_wrong_label(mara: User, signs_in: SignedIn) -> None:
    sample, carla = drawn(
        mara, [2, 2, 2, 2, 2, 1, 1, 1], overall_percent=75, class_percent=75, is_blind=False
    )
    page = opened(signs_in(carla), sample)
    expect(page.locator("#sample-progress")).to_contain_text(
        "1 more may be wrong, but none of the class “1 · "
    )


def test_two_controllers_share_a_sample(mara: User, signs_in: SignedIn, eventually: Eventually) -> None:
    sample, carla = drawn(mara, [2] * 8, is_blind=False)
    chris = controller("chris", sample.round.project)
    first, second = opened(signs_in(carla), sample), opened(signs_in(chris), sample)

    def judge_where_something_is_left() -> bool:
        for page in (first, second):
            if page.locator("[data-action=agree]").is_visible():
                agrees(page)
        return len(judgements(sample)) == 8

    eventually(judge_where_something_is_left, "everything to be judged")
    expect(first.locator("#end")).to_be_visible()
    expect(second.locator("#end")).to_be_visible()
    for page in (first, second):
        expect(page.locator("#notices .alert")).to_have_count(0)
    assert {judgement.controller for judgement in judgements(sample)} == {carla, chris}


def test_items_held_by_others_are_requested_again(mara: User, signs_in: SignedIn) -> None:
    sample, carla = drawn(mara, [2, 2, 2, 2], is_blind=False)
    chris = controller("chris", sample.round.project)
    first, second = opened(signs_in(carla), sample), opened(signs_in(chris), sample)
    agrees(second)
    expect(second.locator("#end")).to_contain_text("3 more are with other controllers now")
    first.close()
    cache.clear()
    press(second, "n")
    expect(second.locator("#place")).to_have_text("1 of 4")


def test_a_dialogue_that_somebody_else_judged_meanwhile_is_skipped_with_a_notice(
    mara: User, signs_in: SignedIn
) -> None:
    sample, carla = drawn(mara, [2, 1, 2, 2])
    chris = controller("chris", sample.round.project)
    page = opened(signs_in(carla), sample)
    first, *_rest = SampleItem.objects.filter(sample=sample).order_by("place")
    judge(controller=chris, item_id=first.pk, sent=SentJudgement(id=uuid4(), answers=diqad_answers(2)))
    press(page, KEYS[2], "Control+Enter")
    expect(page.locator("#notices")).to_contain_text("Another controller has judged this dialogue.")
    expect(page.locator("#place")).to_have_text("2 of 4")


def test_a_verdict_of_another_person_is_reported(mara: User, signs_in: SignedIn) -> None:
    sample, carla = drawn(mara, [2] * 8, overall_percent=10, is_blind=False)
    chris = controller("chris", sample.round.project)
    page = opened(signs_in(carla), sample)
    last = SampleItem.objects.filter(sample=sample).order_by("place").last()
    assert last is not None
    judge(controller=chris, item_id=last.pk, sent=SentJudgement(id=uuid4()))
    accept_round(controller=chris, round_id=sample.round_id, decision_id=uuid4())
    agrees(page)
    expect(page.locator("#notices")).to_contain_text("This batch already has its verdict")
    expect(page.locator("#notices button")).to_have_text("Open the batch")


def test_an_offline_judgement_waits_and_is_sent(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    page, sample = two_judged_offline(mara, signs_in)
    expect(page.locator("#notices")).to_contain_text("No connection.")
    assert not judgements(sample)
    page.context.set_offline(False)
    eventually(lambda: len(judgements(sample)) == 2, "what waited")
    expect(page.locator("#notices")).not_to_contain_text("No connection.")


def test_where_every_answer_is_checked_brackets_differ_beside_the_utterances(
    mara: User, signs_in: SignedIn
) -> None:
    """DCH: a label holds where every compared answer is the same."""
    project = planned("dch", mara, count=1, overlap=1)
    BatchPlan.objects.create(project=project, sample_size=100, double_every=0)
    cut_batches(project=project, actor=None, cut_id=uuid4(), groups=[])
    anna, carla = annotator("anna", project), controller("carla", project)
    held = claim_next_task(annotator=anna, project=project, claim_id=uuid4())
    submit_labels(
        annotator=anna,
        assignment_id=held.pk,
        sent=SentLabels(id=uuid4(), schema=1, answers=helpdesk(1)),
    )
    row = Round.objects.get(project=project)
    seal_when_complete(round_id=row.pk)
    with seeded(3):
        sample = draw_sample(controller=carla, round_id=row.pk, sample_id=uuid4())
    page = opened(signs_in(carla), sample)
    press(page, "Control+Enter")
    expect(page.locator("[data-active]")).to_contain_text("Please answer this question.")
    answer_all(page)
    press(page, "Control+Enter")
    expect(page.locator("#comparison")).to_contain_text("The label is wrong.")
    expect(page.locator("#turns .spread").first).to_contain_text("you")


def answer_all(page: Page) -> None:
    """The first option everywhere."""
    for _n in range(40):
        if page.locator("#send").evaluate("(one) => one === document.activeElement"):
            return
        keys = page.locator("[data-active] .option .key, [aria-current] .option .key")
        press(page, keys.first.inner_text().lower())
    raise AssertionError("there is no end of questions")


def test_waiting_judgements_survive_a_reload(mara: User, signs_in: SignedIn, eventually: Eventually) -> None:
    sample, carla = drawn(mara, [2, 2, 1, 2], is_blind=False)
    page = opened(signs_in(carla, **ROUTED), sample)
    page.route("**/judgements/", lambda route: route.abort())
    agrees(page)
    agrees(page)
    expect(page.locator("#notices")).to_contain_text("No connection.")
    page.unroute("**/judgements/")
    page.reload()
    eventually(lambda: len(judgements(sample)) == 2, "what waited")
    expect(page.locator("#place")).to_have_text("3 of 4")


def test_a_judgement_is_not_sent_as_another_controllers(
    mara: User, signs_in: SignedIn, stack: Stack, eventually: Eventually
) -> None:
    """Somebody else signs in in another tab while the page is open."""
    sample, carla = drawn(mara, [2, 2, 1, 2], is_blind=False)
    page = opened(signs_in(carla), sample)
    cleo = controller("cleo", sample.round.project)
    take_over(page.context, cleo, stack.url)
    agrees(page)
    expect(page.locator("#notices")).to_contain_text("You are signed in as cleo now.")
    assert judgements(sample) == []
    take_over(page.context, carla, stack.url)
    eventually(lambda: len(judgements(sample)) == 1, "what waited")
    assert judgements(sample)[0].controller == carla


@pytest.mark.parametrize("utterances", [1, 2000])
def test_any_length_is_judged(mara: User, signs_in: SignedIn, utterances: int) -> None:
    sample, carla = drawn(mara, [2, 2], utterances=utterances, is_blind=False)
    page = opened(signs_in(carla), sample)
    expect(page.locator("#turns > li")).to_have_count(utterances)
    agrees(page)
    expect(page.locator("#place")).to_have_text("2 of 2")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("is_blind", [True, False])
def test_nothing_hinders_anybody(mara: User, signs_in: SignedIn, theme: str, is_blind: bool) -> None:
    sample, carla = drawn(mara, [2, 1, 2], is_blind=is_blind, class_percent=90)
    page = opened(signs_in(carla, color_scheme=theme), sample)
    assert Axe().run(page).response["violations"] == []
    press(page, *([KEYS[0], "Control+Enter"] if is_blind else ["n"]))
    if is_blind:
        expect(page.locator("#comparison")).to_be_visible()
    assert Axe().run(page).response["violations"] == []


def test_nothing_is_cut_off_on_a_telephone(mara: User, signs_in: SignedIn) -> None:
    sample, carla = drawn(mara, [2, 1, 2], class_percent=90)
    page = opened(signs_in(carla, viewport={"width": 360, "height": 740}), sample)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    tops = []
    for selector in ("#strip", "#sample-progress summary", "#turns", "#checked", "#asked", "#send"):
        expect(page.locator(selector)).to_be_in_viewport()
        box = page.locator(selector).bounding_box()
        assert box
        tops.append(box["y"])
    assert tops == sorted(tops)
