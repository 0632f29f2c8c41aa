"""Every page: no axe violation, in both languages and themes, from 360 px to 2,560 px, light and quickly there."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import resolve
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment
from benchmarks.page import MAX_COLD_BYTES, MAX_COLD_REQUESTS, cold_weight
from projects.models import Membership, Project, Role
from tests.browser.bench import Bench
from tests.browser.conftest import SignedIn
from tests.browser.labelling import planned
from tests.sizes import LOOKS

Writes = Callable[..., TurnResult]
NOT_OURS = ("/admin/", "/api/", "/static/", "/service-worker.js", "/accounts/logout/")
ROOM_PX = 1  # of rounding


@pytest.fixture
def everybody(planned: Project, anns_assignment: Assignment, ann: User, writes: Writes) -> User:
    """Somebody with every role, who has written something."""
    writes(anns_assignment, "My cat sheds all over the sofa.", 0)
    Membership.objects.filter(user=ann).update(roles=list(Role))
    return ann


def links(page: Page) -> Iterator[str]:
    """Addresses of this site on a page, each without its query."""
    for address in page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)"):
        parts = urlsplit(address)
        if parts.netloc == urlsplit(page.url).netloc and not parts.path.startswith(NOT_OURS):
            yield parts.path


def visit_all(page: Page) -> Iterator[str]:
    """The first page of every URL name that links lead to, the start page first."""
    waiting, visited = ["/"], {resolve("/").view_name}
    while waiting:
        path = waiting.pop(0)
        answer = page.goto(path)
        assert answer is not None
        assert answer.status < 400, f"{path}: {answer.status}"
        if "text/html" not in answer.headers["content-type"]:
            continue
        yield path
        for link in links(page):
            name = resolve(link).view_name
            if name not in visited and not link.endswith((".csv", ".svg", ".json")):
                visited.add(name)
                waiting.append(link)


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("zh-hans", "dark")])
def test_every_page_is_accessible_and_fits_every_window(
    everybody: User, signs_in: SignedIn, language: str, theme: str
) -> None:
    everybody.language, everybody.theme = language, theme
    everybody.save()
    page = signs_in(everybody)
    visited, violations, too_wide = [], {}, {}
    for path in visit_all(page):
        visited.append(path)
        result = Axe().run(page)
        if result.violations_count:
            violations[path] = result.generate_report()
        assert page.get_attribute("html", "lang") == ("zh-Hans" if language == "zh-hans" else "en")
        for width in (360, 768, 2560, 1280):  # the next page opens at the last
            page.set_viewport_size({"width": width, "height": 800})
            if (over := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > ROOM_PX:
                too_wide[path, width] = over
    assert not violations, "\n".join(f"{path}\n{report}" for path, report in violations.items())
    assert not too_wide
    assert {"/", "/p/chit-chat/queue/", "/account/"} <= set(visited)


@pytest.mark.soak
@pytest.mark.parametrize(("width", "scheme"), sorted({(width, theme) for width, _language, theme in LOOKS}))
def test_the_workbench_has_no_accessibility_violation_in_any_state(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, writes: Writes, width: int, scheme: str
) -> None:
    page = signs_in(ann, viewport={"width": width, "height": 740}, color_scheme=scheme)
    states = states_of_the_workbench(Bench.open(page, anns_assignment), anns_assignment, writes)
    violations_by_state = {}
    for state in states:
        result = Axe().run(page)
        if result.violations_count:
            violations_by_state[state] = result.generate_report()
    assert not violations_by_state, "\n".join(
        f"{state}\n{report}" for state, report in violations_by_state.items()
    )


def states_of_the_workbench(bench: Bench, assignment: Assignment, writes: Writes) -> Iterator[str]:
    yield "opening"
    bench.says_and_waits("My cat sheds all over the sofa.")
    yield "candidates"
    bench.press("3", "End").type(" Really!")
    yield "revising"
    bench.press("Escape")
    bench.page.keyboard.press("Tab")
    bench.page.get_by_role("button", name="More", exact=True).click()
    yield "more"
    bench.page.keyboard.press("Escape")
    bench.page.get_by_role("button", name="Show the keys").click(force=True)
    expect(bench.page.get_by_role("dialog")).to_be_visible()
    yield "keys"
    bench.page.keyboard.press("Escape")
    bench.field.focus()
    bench.page.context.set_offline(True)
    bench.type("One.").submit().type("Two.").submit()
    expect(bench.badge).to_have_text("2 waiting to send")
    yield "offline"
    writes(assignment, "Written on the phone.", 1)
    bench.page.context.set_offline(False)
    expect(bench.notices.locator("q")).to_have_count(1)
    yield "refused"


def test_a_cold_workbench_is_light(anns_assignment: Assignment, ann: User, signs_in: SignedIn) -> None:
    weight = cold_weight(signs_in(ann), f"/p/{anns_assignment.project.slug}/a/{anns_assignment.pk}/")
    assert weight["cold_requests"] <= MAX_COLD_REQUESTS, weight
    assert weight["cold_bytes"] <= MAX_COLD_BYTES, weight


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_workbench_speaks_the_persons_language(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, language: str
) -> None:
    ann.language = language
    ann.save()
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    submit = page.locator("#submit")
    expect(submit).to_contain_text("提交" if language == "zh-hans" else "Submit")
    bench.says_and_waits("春天我家猫开始掉毛了")
    bench.press("2")
    expect(bench.note).to_contain_text("选用" if language == "zh-hans" else "select")
    page.locator(".lang-switch").click()
    expect(submit).to_contain_text("Submit" if language == "zh-hans" else "提交")


def test_everything_on_the_workbench_can_be_reached_with_the_tab_key(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    candidates = bench.says_and_waits("My cat sheds all over the sofa.")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.innerText.trim()"))
    assert all(any(text in label for label in reached) for text in candidates)
    assert any(text.startswith("Submit") for text in reached)


def test_at_360_px_the_tab_of_the_page_is_in_view(signs_in: SignedIn, project: Project, mara: User) -> None:
    page = signs_in(mara, viewport={"width": 360, "height": 800})
    page.goto("/p/chit-chat/settings/")
    expect(page.locator(".tabs > [aria-current]")).to_be_in_viewport(ratio=1)


def test_after_a_refusal_the_first_field_that_was_refused_is_in_view_with_the_focus(
    signs_in: SignedIn, mara: User
) -> None:
    project = planned("diqad", mara)
    page = signs_in(mara, viewport={"width": 900, "height": 500})
    page.goto(f"/p/{project.slug}/batches/")
    sent = page.locator("form", has=page.locator("[name=overall_percent]"))
    sent.evaluate("form => { form.noValidate = true; }")
    sent.locator("[name=overall_percent]").fill("120")
    sent.get_by_role("button", name="Save").click()
    field = page.locator("[name=overall_percent]")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("width", [360, 1280])
def test_no_tab_is_cut_and_the_menu_has_the_rest(
    signs_in: SignedIn, project: Project, mara: User, width: int, language: str
) -> None:
    User.objects.filter(pk=mara.pk).update(language=language)
    page = signs_in(mara, viewport={"width": width, "height": 800})
    page.goto("/p/chit-chat/settings/")
    tabs = page.locator(".project-nav .tabs")
    assert tabs.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert tabs.locator("> a:visible").count() == (6 if width == 1280 else 1)
    tabs.locator("> button").focus()
    page.keyboard.press("Enter")
    menu = page.locator("#pages-menu")
    expect(menu).to_be_visible()
    assert menu.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.keyboard.press("Tab")
    expect(menu.locator("a").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    tabs.locator("> button").click()
    menu.locator("a[href$='/snapshots/']").click()
    page.wait_for_url("**/snapshots/")


@pytest.mark.parametrize(
    ("address", "beside"),
    [("/p/chit-chat/settings/webhooks/", "h1"), ("/p/chit-chat/history/", "form.search")],
)
def test_at_390_px_the_button_for_keys_has_no_row_of_its_own(
    signs_in: SignedIn, project: Project, mara: User, address: str, beside: str
) -> None:
    page = signs_in(mara, viewport={"width": 390, "height": 800})
    page.goto(address)
    page.locator("h1").evaluate(
        "one => (one.textContent = 'A title of more words than a telephone has room')"
    )
    keys, other = (
        page.locator(f".firstline {selector}").evaluate("one => one.getBoundingClientRect().toJSON()")
        for selector in ("[data-opens=keys]", beside)
    )
    assert other["top"] < keys["bottom"]
    assert keys["top"] < other["bottom"]


@pytest.mark.parametrize("path", ["", "exports/", "imports/", "statistics/", "settings/", "dialogues/"])
def test_a_finger_hits_everything_that_can_be_pressed(everybody: User, signs_in: SignedIn, path: str) -> None:
    page = signs_in(everybody, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page.goto(f"/p/chit-chat/{path}")
    low = page.eval_on_selector_all(
        "main .button, main summary, main select, main .tabs > a, .project-nav .tabs > *, .plot-foot a",
        "all => all.filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 39.5)"
        ".map((one) => one.textContent.trim())",
    )
    assert low == []


def test_a_step_keeps_its_sign_and_key_on_one_line(
    signs_in: SignedIn, anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    writes(anns_assignment, "My cat sheds all over the sofa.", 0)
    page = signs_in(ann, viewport={"width": 500, "height": 800})
    page.goto("/")
    step = page.locator(".card .button:has(small)").first
    step.locator("small").evaluate("one => (one.textContent = 'open · came back '.repeat(2))")
    middles = step.evaluate(
        "one => [...one.querySelectorAll(':scope > .icon, :scope > .key')].map((part) => {"
        " const box = part.getBoundingClientRect(); return Math.round((box.top + box.bottom) / 2); })"
    )
    assert len(middles) == 2
    assert abs(middles[0] - middles[1]) <= 2


def test_a_click_anywhere_on_a_card_opens_the_project(
    signs_in: SignedIn, project: Project, mara: User
) -> None:
    page = signs_in(mara)
    page.goto("/")
    page.locator(".card").click(position={"x": 8, "y": 8})
    page.wait_for_url("**/p/chit-chat/")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_at_360_px_the_buttons_of_the_workbench_stay_in_one_row(
    anns_assignment: Assignment,
    ann: User,
    signs_in: SignedIn,
    writes: Callable[..., object],
    language: str,
) -> None:
    User.objects.filter(pk=ann.pk).update(language=language)
    for position in range(14):
        writes(anns_assignment, f"utterance {position}", position)
    bench = Bench.open(signs_in(ann, viewport={"width": 360, "height": 800}), anns_assignment)
    expect(bench.page.locator("#finish")).to_be_visible()
    buttons = bench.page.locator(".composer .form-actions .button:visible")
    boxes = [button.bounding_box() for button in buttons.all()]
    assert len(boxes) == 5
    assert len({round(box["y"]) for box in boxes if box}) == 1
    assert max(box["x"] + box["width"] for box in boxes if box) <= 360
    assert not [
        button for button in buttons.all() if button.evaluate("it => it.scrollWidth > it.clientWidth + 1")
    ]
