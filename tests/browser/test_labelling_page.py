"""What the labelling page weighs, and its states in both themes, both languages and all widths."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from accounts.models import User
from benchmarks.labelling_page import KEYS, MAX_COLD_BYTES, MAX_COLD_REQUESTS, submit
from benchmarks.page import cold_weight
from tests.browser.bench import OFF_CENTRE
from tests.browser.conftest import SignedIn
from tests.browser.labelling import LabelBench, annotator, planned, stored

Eventually = Callable[[Callable[[], bool], str], None]


@pytest.mark.parametrize("preset", ["diqad", "dch"])
def test_a_cold_page_is_light(preset: str, mara: User, signs_in: SignedIn) -> None:
    project = planned(preset, mara, utterances=20)
    page = signs_in(annotator("ann", project))
    weight = cold_weight(page, f"/p/{project.slug}/label/")
    assert weight["cold_requests"] <= MAX_COLD_REQUESTS, weight
    assert weight["cold_bytes"] <= MAX_COLD_BYTES, weight


@pytest.mark.parametrize("preset", KEYS)
def test_the_keys_of_the_benchmark_answer_every_question(preset: str, mara: User, signs_in: SignedIn) -> None:
    project = planned(preset, mara, count=4, utterances=20)
    page = signs_in(annotator("ann", project))
    cold_weight(page, f"/p/{project.slug}/label/")
    page.keyboard.press("Shift")  # work begins: the next dialogue is claimed
    for _ in range(2):
        assert submit(page, KEYS[preset]) > 0


def violations(page: Page) -> str:
    report = Axe().run(page)
    return report.generate_report() if report.violations_count else ""


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("zh-hans", "dark")])
def test_axe_finds_nothing_in_any_state(
    language: str, theme: str, mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("dch", mara, count=1, min_seconds=1, overlap=2, resolution="agreement")
    people = [annotator(name, project) for name in ("ann", "bob", "carol")]
    User.objects.update(language=language, theme=theme)
    violations_by_state: dict[str, str] = {}
    ann, bob, carol = people
    bench = LabelBench.open(signs_in(User.objects.get(pk=ann.pk)), project)
    at_ann = bench.shown
    violations_by_state["fresh"] = violations(bench.page)
    bench.press("y", "y", "5", "y", "y", "1", "1", "g")
    violations_by_state["nuggets, guide open"] = violations(bench.page)
    bench.submit()
    violations_by_state["missing"] = violations(bench.page)
    bench.press("g", "2", "3").submit()
    expect(bench.nothing).to_be_visible()
    violations_by_state["nothing left"] = violations(bench.page)
    bench.press("Control+Shift+p")
    expect(bench.page.locator("#previous li")).to_have_count(1)
    violations_by_state["previous submissions"] = violations(bench.page)
    bobs = LabelBench.open(signs_in(User.objects.get(pk=bob.pk)), project)
    bobs.press("Control+Shift+s")
    expect(bobs.page.locator("#skip-dialog")).to_be_visible()
    violations_by_state["skip"] = violations(bobs.page)
    bobs.press("Escape", "n", "y", "5", "y", "y", "1", "1", "2", "2").submit()
    eventually(lambda: len(stored(bob)) == 1, "bob's submission")
    bench = LabelBench.open(bench.page, project, at_ann)
    expect(bench.page.locator(".theirs").first).to_be_visible()
    violations_by_state["confirmation"] = violations(bench.page)
    carols = LabelBench.open(signs_in(User.objects.get(pk=carol.pk)), project)
    expect(carols.nothing).to_be_visible()
    violations_by_state["nothing for a third"] = violations(carols.page)
    assert not any(violations_by_state.values()), "\n".join(
        f"{state}\n{report}" for state, report in violations_by_state.items() if report
    )


@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
def test_no_state_scrolls_sideways(width: int, mara: User, signs_in: SignedIn) -> None:
    project = planned("dch", mara, count=1)
    page = signs_in(annotator("ann", project), viewport={"width": width, "height": 740})
    bench = LabelBench.open(page, project)
    for keys in (["y", "g"], ["y", "5", "y", "y"], ["1", "g"]):
        bench.press(*keys)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(bench.active).to_be_in_viewport()
    expect(page.locator("#submit")).to_be_in_viewport()


def test_the_button_for_the_keys_stands_beside_the_other_tools_on_a_narrow_screen(
    mara: User, signs_in: SignedIn
) -> None:
    project = planned("diqad", mara)
    page = signs_in(annotator("ann", project), viewport={"width": 390, "height": 740})
    LabelBench.open(page, project)
    page.locator("#stage").evaluate("stage => { stage.textContent = 'Confirm' }")
    page.locator("#progress [data-words]").evaluate(
        "words => { words.textContent = '12,345 of 67,890 labelled' }"
    )
    tools = page.locator(".firstline-tools > *")
    rows = {round(box["y"] + box["height"] / 2) for tool in tools.all() if (box := tool.bounding_box())}
    heading = page.locator("h1").bounding_box()
    assert heading is not None
    assert max(rows) - min(rows) <= 1
    assert heading["y"] < min(rows) < heading["y"] + heading["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_touch_screen_has_no_button_for_the_keys(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara)
    phone = {"viewport": {"width": 390, "height": 740}, "has_touch": True, "is_mobile": True}
    page = signs_in(annotator("ann", project), **phone)
    LabelBench.open(page, project)
    expect(page.locator("[data-opens=keys]")).to_be_hidden()
    off_centre = page.locator(".option:visible").evaluate_all(OFF_CENTRE)
    assert off_centre
    assert [px for px in off_centre if abs(px) > 1] == []
