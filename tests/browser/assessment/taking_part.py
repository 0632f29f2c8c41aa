"""What a participant does in the browser, by keyboard only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from projects.models import Project
from tests.assessment.steps import opened_run
from tests.assessment.talk import degraded_system, import_dialogues, openai_system
from tests.browser.conftest import SignedIn

NARROW = {"width": 360, "height": 740}


def prepare(project: Project, server: str, *modes: str) -> None:
    """Systems of these kinds, the degraded one with words to take, and an open run."""
    import_dialogues(project)
    for mode in modes:
        openai_system(project, server, mode)
    degraded_system(project)
    opened_run(project)


@dataclass(slots=True)
class Visitor:
    """The browser of a participant."""

    page: Page
    address: str

    @classmethod
    def come(cls, signs_in: SignedIn, name: str = "ann", locale: str = "en-US", **options: object) -> Visitor:
        page = signs_in(None, locale=locale, **{"viewport": NARROW, **options})
        visitor = cls(page, f"/join/study/?PROLIFIC_PID={name}")
        page.goto(visitor.address)
        return visitor

    @property
    def messages(self) -> Locator:
        return self.page.locator(".bubble")

    @property
    def heading(self) -> Locator:
        return self.page.locator("h1")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, target: Locator) -> None:
        """With the Tab key, as somebody without a mouse does."""
        expect(target).to_be_visible()
        for _n in range(60):
            if target.evaluate("element => element === document.activeElement"):
                return
            self.press("Tab")
        raise AssertionError(f"the Tab key does not reach {target}")

    def agree(self) -> None:
        self.tab_to(self.page.locator("form[action$='consent/'] button"))
        self.press("Enter")
        self.tab_to(self.page.locator(".study-actions .primary"))
        self.press("Enter")

    def choose_topic(self, topic: str = "cats") -> None:
        expect(self.page.locator("#topic")).to_be_focused()
        self.page.keyboard.type(topic)
        self.press("Tab", "Space", "Enter")
        self.can_write()

    def can_write(self) -> None:
        expect(self.page.locator("#send")).to_be_enabled()
        expect(self.page.locator("#text")).to_be_focused()

    def write(self, text: str) -> None:
        """Type into the field, which has the focus, and send; the reply comes."""
        before = self.messages.count()
        self.can_write()
        self.page.keyboard.type(text)
        self.press("Enter")
        expect(self.messages).to_have_count(before + 2)

    def chat(self, inputs: int = 2) -> None:
        for n in range(inputs):
            self.write(f"Message {n}")

    def finish_chat(self) -> None:
        self.tab_to(self.page.locator("#finish-button"))
        self.press("Enter")
        expect(self.page.locator("#ratings")).to_be_visible()
        # Set by the page's script, which from then on notices what is chosen.
        expect(self.page.locator("#ratings input[type=range]").last).to_have_attribute(
            "aria-valuetext", re.compile(".")
        )

    def rate(self) -> None:
        self.tab_to(self.page.locator("[name=bot_opinion]").first)
        self.press("Space", "Tab", "ArrowDown")
        for slider in self.page.locator("input[type=range]").all():
            self.tab_to(slider)
            self.press("ArrowRight")
        self.tab_to(self.page.locator("#ratings .primary"))
        self.press("Enter")

    def converse(self, inputs: int = 2) -> None:
        self.choose_topic()
        self.chat(inputs)
        self.finish_chat()
        self.rate()

    def give_feedback(self, text: str) -> None:
        expect(self.page.locator("#feedback")).to_be_focused()
        self.page.keyboard.type(text)
        self.tab_to(self.page.locator("main .primary"))
        self.press("Enter")

    def see_code(self, code: str) -> None:
        expect(self.page.locator("#code")).to_have_text(code)
