"""The workbench as a person at the keyboard sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from playwright.sync_api import Locator, Page, Route, expect

from annotation.authoring.models import Turn
from annotation.tasks.models.work import Assignment
from dialogues.models import Utterance

# How far the words of buttons are from the middle of their height, in pixels.
OFF_CENTRE = """buttons => buttons.map((button) => {
    const range = document.createRange();
    range.selectNodeContents(button.querySelector("[data-text], :scope > span"));
    const [box, words] = [button.getBoundingClientRect(), range.getBoundingClientRect()];
    return (words.top + words.bottom - box.top - box.bottom) / 2;
})"""


def utterances(assignment: Assignment) -> list[str]:
    """What is stored, in order."""
    rows = Utterance.objects.filter(dialogue=assignment.dialogue_id).order_by("position")
    return list(rows.values_list("text", flat=True))


def actions(assignment: Assignment) -> list[str]:
    rows = Utterance.objects.filter(dialogue=assignment.dialogue_id).order_by("position")
    return list(rows.values_list("action", flat=True))


def turns_sent(assignment: Assignment) -> int:
    return Turn.objects.filter(assignment=assignment).count()


def hold_first(page: Page, address: str) -> list[Route]:
    """Hold the first request to an address until the test continues it."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route(address, hold)
    return held


@dataclass(slots=True)
class Workbench:
    """What all workbenches have."""

    page: Page

    def ready(self) -> Self:
        self.page.wait_for_selector("html[data-ready]")
        # The field with `autofocus` gets the focus when the page is drawn.
        self.page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => resolve()))")
        return self

    def reload(self) -> Self:
        self.page.reload()
        return self.ready()

    def kept_for_offline(self) -> Self:
        self.page.wait_for_selector("html[data-kept-offline]")
        return self

    def press(self, *keys: str) -> Self:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def type(self, text: str) -> Self:
        self.page.keyboard.type(text)
        return self

    def writes(self, text: str) -> Self:
        """All at once: between two keys of a slow machine the page may save what is there."""
        self.page.keyboard.insert_text(text)
        return self

    def submit(self) -> Self:
        return self.press("Control+Enter")

    @property
    def notices(self) -> Locator:
        return self.page.locator("#notices")

    @property
    def badge(self) -> Locator:
        return self.page.locator("#outbox")


class Bench(Workbench):
    @classmethod
    def open(cls, page: Page, assignment: Assignment) -> Bench:
        page.goto(f"/p/{assignment.project.slug}/a/{assignment.pk}/")
        return cls(page).ready()

    @property
    def field(self) -> Locator:
        return self.page.locator("#words")

    @property
    def note(self) -> Locator:
        return self.page.locator("[data-note]")

    @property
    def kept_words(self) -> Locator:
        """Words that are not stored, each after whose they were."""
        return self.page.locator("#notices [data-cause=aside] :is(b, q)")

    @property
    def rows(self) -> Locator:
        return self.page.locator("#turns > .turn")

    def says(self) -> list[str]:
        """The dialogue as it is shown."""
        return self.page.locator("#turns [data-text]").all_inner_texts()

    def shown_candidates(self) -> list[str]:
        return self.page.locator("#candidates [data-place] [data-text]").all_inner_texts()

    def saves(self, text: str) -> Bench:
        """Write, and wait until the server has the draft."""
        self.writes(text)
        expect(self.note).to_contain_text("draft saved")
        return self

    def chooses_between(self, theirs: str, mine: str) -> Bench:
        """Wait until the page asks which of two drafts counts."""
        expect(self.notices.locator("q")).to_have_text([theirs, mine])
        return self

    def stored(self, count: int) -> Bench:
        """Wait until so many turns are shown and none of them waits."""
        expect(self.rows).to_have_count(count)
        expect(self.page.locator("#turns > [data-pending]")).to_have_count(0)
        return self

    def candidates(self, count: int = 7) -> list[str]:
        """Wait for the candidates of this turn."""
        expect(self.places).to_have_count(count)
        return self.shown_candidates()

    @property
    def places(self) -> Locator:
        return self.page.locator("#candidates [data-list]:not([inert]) [data-place]")

    def says_and_waits(self, text: str) -> list[str]:
        """One turn: write, send, wait for what comes next."""
        before = self.rows.count()
        self.type(text).submit().stored(before + 1)
        return self.candidates()
