"""The style guide: keys, themes, notes, small and large windows, accessibility."""

import os
import subprocess
import sys
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, expect

from tests.common.test_sentences import SENTENCES
from tests.processes import ENDING_SECONDS, Stack, database_url, free_port, wait_until

PRESSED = """selector => {
    window.presses = 0;
    document.querySelector(selector).addEventListener("click", () => window.presses++);
}"""
SUBMIT, COMPOSER, UNDO = "[data-key='mod+enter']", "#words", "[data-key='mod+z']"


@pytest.fixture(scope="module")
def site(stack: Stack) -> Iterator[str]:
    """Address of a server with DEBUG, because only that one shows the style guide."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "-c",
        "python:config.gunicorn",
        "--bind",
        f"127.0.0.1:{port}",
    ]
    server = subprocess.Popen(
        command, env={**os.environ, "DEBUG": "1", "DATABASE_URL": database_url()}, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(f"{address}/healthz"), 60, "the server")
        yield address
    finally:
        server.terminate()
        server.wait(timeout=ENDING_SECONDS)


def answers(url: str) -> bool:
    try:
        urlopen(url, timeout=10).close()
    except (URLError, OSError):
        return False
    return True


@pytest.fixture
def complaints() -> list[str]:
    """What the page wrote to the console or asked of other sites."""
    return []


@pytest.fixture
def page(chromium_browser: Browser, site: str, complaints: list[str]) -> Iterator[Page]:
    context = chromium_browser.new_context(base_url=site, locale="en-US")
    opened = context.new_page()

    def note_stranger(request: Request) -> None:
        if not request.url.startswith((site, "data:")):
            complaints.append(request.url)

    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", note_stranger)
    yield opened
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/styleguide/?messages=1", "/styleguide/workbench/", "/accounts/login/"])
def test_axe_finds_nothing(page: Page, path: str, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(path)
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()


@pytest.mark.parametrize("path", ["/styleguide/", "/styleguide/workbench/?waiting=1", "/accounts/login/"])
def test_the_policy_is_kept_and_nobody_else_is_asked(page: Page, path: str, complaints: list[str]) -> None:
    page.goto(path, wait_until="networkidle")
    assert complaints == []


@pytest.mark.parametrize("width", [360, 1280, 2560])
@pytest.mark.parametrize("path", ["/styleguide/", "/styleguide/workbench/", "/accounts/login/"])
def test_no_page_is_wider_than_the_window(page: Page, path: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_scripts_keep_numbers_and_units_on_one_line(page: Page) -> None:
    page.goto("/styleguide/")
    words = page.evaluate(
        "import('/static/js/shared/page.js').then(({ format }) => format('{s} s of {n} samples', { s: 1200, n: 4 }))"
    )
    assert words == "1,200\u00a0s of 4 samples"


def test_scripts_join_sentences_as_python_does(page: Page) -> None:
    page.goto("/styleguide/")
    join = "list => import('/static/js/shared/page.js').then(({ joinSentences }) => joinSentences(...list))"
    joined = {expected: page.evaluate(join, sentences) for sentences, expected in SENTENCES}
    assert list(joined) == list(joined.values())


def test_a_long_fact_takes_the_whole_row_of_a_narrow_page(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/styleguide/")
    row, long, short = (
        page.locator(selector).first.evaluate("one => one.getBoundingClientRect().toJSON()")
        for selector in (".facts", ".facts div:has(.whole) dd", ".facts dd")
    )
    assert long["x"] == row["x"] < short["x"]
    assert long["height"] < 3 * short["height"]


@pytest.mark.parametrize("path", ["/styleguide/", "/styleguide/workbench/"])
def test_everything_that_can_be_pressed_is_large_enough(page: Page, path: str) -> None:
    page.goto(path)
    heights = page.eval_on_selector_all(
        "button, .button, .tabs a, .segments label, select",
        "all => all.map(one => one.getBoundingClientRect().height).filter(Boolean)",
    )
    assert min(heights) >= 32


def test_the_sheet_lists_the_keys_of_the_page(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys of this page")
    expect(sheet).to_be_visible()
    expect(sheet.get_by_role("term").filter(has_text="Take candidate")).to_have_count(7)
    expect(sheet.get_by_text("Ctrl ↵")).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_no_key_reaches_the_page_below_an_open_sheet(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.evaluate(PRESSED, ".candidate")
    page.keyboard.press("?")
    page.keyboard.press("1")
    assert page.evaluate("presses") == 0


def test_a_key_presses_its_control(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.evaluate(PRESSED, ".candidate")
    page.keyboard.press("1")
    page.keyboard.press("Alt+1")
    assert page.evaluate("presses") == 2


def test_a_key_of_a_field_puts_the_cursor_there(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.keyboard.press("i")
    expect(page.locator(COMPOSER)).to_be_focused()


def test_single_keys_are_letters_while_typing(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.evaluate(PRESSED, ".candidate")
    page.fill(COMPOSER, "")
    page.type(COMPOSER, "1?")
    expect(page.locator(COMPOSER)).to_have_value("1?")
    expect(page.locator("#keys")).to_be_hidden()
    assert page.evaluate("presses") == 0


def test_combinations_work_while_typing(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.evaluate(PRESSED, SUBMIT)
    page.focus(COMPOSER)
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Meta+Enter")
    page.keyboard.press("Enter")
    assert page.evaluate("presses") == 2


@pytest.mark.parametrize(
    "event",
    [
        "{key: 'Enter', ctrlKey: true, isComposing: true}",
        "{key: 'Enter', ctrlKey: true, keyCode: 229}",
        "{key: 'Process', ctrlKey: true, code: 'Enter', keyCode: 229}",
    ],
)
def test_no_key_fires_while_an_input_method_composes(page: Page, event: str) -> None:
    page.goto("/styleguide/workbench/")
    page.evaluate(PRESSED, SUBMIT)
    page.eval_on_selector(
        COMPOSER, f"box => box.dispatchEvent(new KeyboardEvent('keydown', {{bubbles: true, ...{event}}}))"
    )
    assert page.evaluate("presses") == 0


def test_the_enter_that_ends_a_composition_does_not_submit(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.evaluate(PRESSED, SUBMIT)
    page.eval_on_selector(
        COMPOSER,
        """box => {
            box.dispatchEvent(new CompositionEvent("compositionend", {bubbles: true, data: "猫"}));
            box.dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, key: "Enter", ctrlKey: true}));
        }""",
    )
    assert page.evaluate("presses") == 0
    page.wait_for_timeout(150)
    page.focus(COMPOSER)
    page.keyboard.press("Control+Enter")
    assert page.evaluate("presses") == 1


def test_a_disabled_control_has_no_key(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.evaluate(PRESSED, UNDO)
    page.eval_on_selector(UNDO, "button => { button.disabled = true; }")
    page.keyboard.press("Control+z")
    assert page.evaluate("presses") == 0


def test_the_theme_changes_at_once_and_stays(page: Page, site: str) -> None:
    page.goto("/styleguide/")
    page.get_by_role("button", name="Theme").click()
    with page.expect_response("**/account/theme/"):
        page.get_by_role("button", name="Dark", exact=True).click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"


def test_a_theme_that_cannot_be_stored_says_so(page: Page) -> None:
    page.goto("/styleguide/")
    page.context.set_offline(True)
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="could not be stored")).to_be_visible()


def test_the_language_changes_where_one_is(page: Page) -> None:
    page.goto("/styleguide/workbench/")
    page.get_by_role("button", name="中").click()
    page.wait_for_url("**/styleguide/workbench/")
    assert page.get_attribute("html", "lang") == "zh-Hans"


def test_a_note_is_text_and_bad_news_stays(page: Page) -> None:
    page.clock.install()
    page.goto("/styleguide/")
    page.evaluate(
        """async () => {
            const { toast } = await import("/static/js/shared/toast.js");
            toast("Saved.", { tone: "good" });
            toast("<b>Not</b> saved.", { tone: "bad" });
        }"""
    )
    notes = page.locator("#toasts .toast")
    expect(notes).to_have_count(2)
    expect(notes.nth(1)).to_contain_text("<b>Not</b> saved.")
    page.clock.fast_forward(7000)
    expect(notes).to_have_count(1)
    page.locator("#toasts").get_by_role("button", name="Close").click()
    expect(notes).to_have_count(0)


def test_an_unreachable_server_is_reported(page: Page) -> None:
    page.goto("/styleguide/")
    page.evaluate(
        "document.body.dispatchEvent(new CustomEvent('htmx:sendError', {bubbles: true, detail: {}}))"
    )
    expect(page.locator("#toasts")).to_contain_text("cannot be reached")
