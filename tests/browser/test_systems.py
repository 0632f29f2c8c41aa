"""Adding systems and trying them out, with a real worker of the queue `chat` and a real server to ask."""

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from accounts.models import User
from assessment.systems.models import System
from jobs.selectors import live_workers
from projects.models import Project
from tests.assessment.conftest import server, talks
from tests.assessment.talk import degraded_system, import_dialogues, openai_system
from tests.browser.conftest import SignedIn
from tests.processes import Running, Stack, wait_until

__all__ = ["server", "talks"]


@pytest.fixture
def chat_worker(stack: Stack, worker: Running) -> Iterator[Running]:
    process = stack.chat_worker(threads=4)
    wait_until(lambda: live_workers("chat").exists(), 60, f"the worker ({process.log})")
    yield process
    process.kill()


def is_accessible(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def say(page: Page, text: str) -> None:
    page.locator("#text").fill(text)
    page.keyboard.press("Enter")


def test_a_system_is_added_by_its_form_and_answers(
    talks: Project, mara: User, signs_in: SignedIn, chat_worker: Running, server: str
) -> None:
    page = signs_in(mara)
    page.goto("/p/talks/systems/")
    is_accessible(page)
    page.get_by_role("link", name=re.compile("OpenAI-compatible server")).click()
    page.locator("[name=name]").fill("Mega")
    page.locator("[name=base_url]").fill(f"{server}/good/v1")
    page.locator("[name=model]").fill("mega/bot")
    is_accessible(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#text")).to_be_focused()
    say(page, "Do you like tea?")
    expect(page.locator(".bubble").last).to_contain_text("You said: Do you like tea?")
    expect(page.locator(".bubble-state")).to_contain_text("mega/bot")
    expect(page.locator("#text")).to_be_focused()
    say(page, "And coffee?")
    expect(page.locator(".bubble")).to_have_count(4)
    is_accessible(page)
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator(".bubble")).to_have_count(0)
    page.goto("/p/talks/systems/")
    expect(page.locator("tbody")).to_contain_text("Answers")


def test_a_failure_and_a_degraded_reply_are_explained(
    talks: Project, mara: User, signs_in: SignedIn, chat_worker: Running, server: str
) -> None:
    import_dialogues(talks)
    broken, odd = openai_system(talks, server, "breaks"), degraded_system(talks)
    page = signs_in(mara, viewport={"width": 360, "height": 740}, locale="zh-CN")
    page.goto(f"/p/talks/systems/{broken.pk}/try/")
    say(page, "你好")
    expect(page.locator(".alert.bad")).to_contain_text("503")
    page.goto(f"/p/talks/systems/{odd.pk}/try/")
    say(page, "你好")
    expect(page.locator(".trial-degradation ins")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    is_accessible(page)
    page.goto("/p/talks/systems/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("tr", has_text="degraded").get_by_role("button", name="停用").click()
    expect(page.locator("tr", has_text="degraded")).to_contain_text("已停用")
    assert System.objects.get(pk=odd.pk).retired_at is not None
