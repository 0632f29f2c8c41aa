"""How the options of a question look: one number each, aligned, words before codes, what is not on the scale apart."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from accounts.models import User
from tests.browser.conftest import SignedIn
from tests.browser.labelling import (
    LabelBench,
    annotator,
    labelling_project,
    planned,
    said_by,
    stored,
    with_dialogues,
)

TOP = "all => [...new Set(all.map(one => Math.round(one.getBoundingClientRect().top)))]"
LEFT = TOP.replace(".top", ".left")
SHARE = "all => all.map(one => one.getBoundingClientRect().width / one.parentElement.clientWidth)"
BROKEN_WORDS = """all => all.filter((label) => {
  const width = (text) => {
    const probe = label.cloneNode();
    Object.assign(probe.style, {position: "absolute", whiteSpace: "nowrap"});
    probe.textContent = text;
    label.parentElement.append(probe);
    const needed = probe.getBoundingClientRect().width;
    probe.remove();
    return needed;
  };
  const room = label.parentElement.getBoundingClientRect().width;
  return label.textContent.split(/\\s+/).some((word) => width(word) > room);
}).map((label) => label.textContent)"""


def options(bench: LabelBench, key: str) -> Locator:
    return bench.answer(key).locator(".option")


@pytest.mark.parametrize(("preset", "key"), [("dialeval", "A"), ("diqad", "quality")])
def test_an_option_shows_one_number(mara: User, signs_in: SignedIn, preset: str, key: str) -> None:
    project = planned(preset, mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    for text in options(bench, key).all_inner_texts():
        assert len(re.findall(r"-?\d+", text)) <= 1, text


def test_the_guide_names_options_as_their_buttons_do(mara: User, signs_in: SignedIn) -> None:
    project = planned("dialeval", mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    bench.press("g")
    terms = bench.answer("A").locator(".guide dt")
    expect(terms).not_to_have_count(0)
    buttons = [" ".join(text.split()) for text in options(bench, "A").all_inner_texts()]
    assert [" ".join(text.split()) for text in terms.all_inner_texts()] == buttons


def test_a_double_click_answers_one_question(mara: User, signs_in: SignedIn) -> None:
    project = planned("dialeval", mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    box = options(bench, "A").first.bounding_box()
    assert box is not None
    bench.page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(bench.page.locator(".option[aria-pressed=true]")).to_have_count(1)


def test_the_steps_of_a_scale_stand_in_one_row_and_no_word_is_broken(mara: User, signs_in: SignedIn) -> None:
    project = planned("dch", mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    assert len(options(bench, "CS").evaluate_all(TOP)) == 1
    assert bench.page.locator(".option > span").evaluate_all(BROKEN_WORDS) == []


def test_on_a_phone_the_steps_stand_below_each_other(mara: User, signs_in: SignedIn) -> None:
    project = planned("dch", mara, count=1)
    page = signs_in(annotator("ann", project), viewport={"width": 390, "height": 780})
    bench = LabelBench.open(page, project)
    assert len(options(bench, "CS").evaluate_all(LEFT)) == 1


def test_without_an_utterance_that_can_be_a_nugget_there_is_no_legend(mara: User, signs_in: SignedIn) -> None:
    said = [("A", "Hello."), ("B", "字" * 2508)]
    project = with_dialogues(labelling_project("dch", mara), [said, said_by("dch")])
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    expect(bench.turns).to_have_count(2)
    expect(bench.page.locator(".legend")).to_be_hidden()
    expect(bench.page.get_by_role("button", name="Show all 2,508 characters")).to_be_visible()
    shown = bench.shown
    bench.press("y", "y", "5", "y", "y", "Control+Enter").goes_on_from(shown)
    expect(bench.page.locator(".legend")).to_be_visible()


@pytest.mark.parametrize(("preset", "key"), [("dch", "CS"), ("diqad", "quality")])
def test_on_a_touch_screen_words_have_the_width_of_their_option(
    mara: User, signs_in: SignedIn, preset: str, key: str
) -> None:
    """No key stands in front of them there."""
    project = planned(preset, mara, count=1)
    phone = {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True}
    bench = LabelBench.open(signs_in(annotator("ann", project), **phone), project)
    assert min(options(bench, key).locator("span").first.evaluate_all(SHARE)) > 0.7


def test_privacy_and_phone_stand_apart_from_the_scale(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    apart = bench.answer("quality").locator(".options.apart")
    expect(apart.locator(".option")).to_have_text(
        [
            re.compile("private data in the answers"),
            re.compile("private data in the questions"),
            re.compile("phone"),
        ]
    )
    bench.press("n", "a")
    expect(apart.locator("[aria-pressed=true]")).to_contain_text("in the answers")


def test_options_that_stand_apart_are_submitted_and_stored(
    mara: User, signs_in: SignedIn, eventually: Callable[[Callable[[], bool], str], None]
) -> None:
    values = {"private data in the answers": -1, "private data in the questions": -2, "phone": "phone"}
    project = planned("diqad", mara, count=len(values), overlap=1)
    ann = annotator("ann", project)
    bench = LabelBench.open(signs_in(ann), project)
    for place, words in enumerate(values, start=1):
        shown = bench.shown
        bench.press("n")
        bench.answer("quality").locator(".options.apart .option", has_text=words).click()
        bench.submit()
        if place < len(values):
            bench.goes_on_from(shown)
    eventually(lambda: len(stored(ann)) == len(values), "every submission")
    assert [one.answers["dialogue"] for one in stored(ann)] == [
        {"verify": 0, "quality": value} for value in values.values()
    ]


def test_nuggets_are_words_with_their_codes_behind_and_a_legend_above(mara: User, signs_in: SignedIn) -> None:
    project = planned("dch", mara, count=1)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project)
    expect(bench.page.locator(".legend > li")).to_have_text(
        ["trigger CNUG0", "regular CNUG HNUG", "goal CNUG* HNUG*", "not a nugget NAN"]
    )
    bench.press("y", "y", "5", "y", "y").asks("0/nugget")
    expect(bench.page.locator(".turn .option").first).to_have_text("1trigger CNUG0")
    bench.press("1")
    expect(bench.answer("0/nugget").locator(".chip")).to_have_text("trigger CNUG0")
