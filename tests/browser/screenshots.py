"""Pictures of every page: `make screenshots`, or `python -m tests.browser.screenshots [--output DIR] [--only NAME …]`.

Starts a stack of its own on a scratch database, fills it as the demo, signs in as people of every role, and takes every
page in English and Chinese, light and dark, 1,280 wide; the main ones also at 360 and 2,560. --all-widths takes every
page 390, 1,280 and 2,560 wide. --readme takes only the few of the README, into docs/images/. Afterwards it lists the
pages with a script error, several primary actions, or something that is cut or wider than the window. A page without a
picture fails tests/frontend/test_screenshots.py.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests import chromium
from tests.browser.collection_shots import COLLECTION_SHOTS
from tests.browser.report_shots import REPORT_SHOTS
from tests.browser.shots import README_SHOTS, SHOTS, Shot, World
from tests.browser.shown_world import fill_world
from tests.browser.study_shots import STUDY_SHOTS

ROOT: Final = Path(__file__).parent.parent.parent
DEFAULT: Final = ROOT / "test-results" / "screenshots"
README: Final = ROOT / "docs" / "images"
LANGUAGES: Final = {"en": "en-US", "zh-hans": "zh-CN"}
THEMES: Final = ("light", "dark")
WIDTH, NARROW, WIDE = 1280, 360, 2560
PHONE = 390
HEIGHT: Final = 800
FLAGS: Final = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"]

LAYOUT_PROBLEMS: Final = """() => {
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const named = (one) => (one.textContent.trim() || one.outerHTML).slice(0, 60);
  const seen = (selector) => [...document.querySelectorAll(selector)].filter(isSeen);
  const rightOf = (one) => one.getBoundingClientRect().right;
  const widest = (pane) => [...pane.querySelectorAll("*")].reduce((a, b) => (rightOf(b) > rightOf(a) ? b : a));
  const problems = [];
  if (document.documentElement.scrollWidth > innerWidth) problems.push("wider than its window");
  const primary = seen("main .button.primary").filter((one) => !one.closest("[popover], dialog"));
  if (primary.length > 1) problems.push("several primary actions: " + primary.map(named).join(" | "));
  for (const one of seen(".tabs"))
    if (one.scrollWidth > one.clientWidth + 1) problems.push("tabs are cut: " + named(one));
  const lists = innerWidth < 640 ? seen(".table-wrap:has(> .stacks)") : [];
  for (const pane of [...seen(".pane, .pane-body"), ...lists])  // they clip or scroll: the window gets no wider
    if (pane.scrollWidth > pane.clientWidth + 1) problems.push("wider than its pane: " + named(widest(pane)));
  for (const one of seen(".button, .badge, .tabs > *, th, td, label, h1, h2, legend, summary")) {
    if (one.clientWidth > 1 && getComputedStyle(one).overflowX !== "auto" && one.scrollWidth > one.clientWidth + 2)
      problems.push("does not fit: " + named(one));
  }
  return problems;
}"""


def address_of(shot: Shot, world: World) -> str:
    from django.urls import reverse

    return shot.address or reverse(shot.name, args=shot.args(world))


@dataclass(slots=True)
class Camera:
    """Takes pictures of a running stack. complaints: what was wrong with a page when its picture was taken."""

    browser: Browser
    url: str
    folder: Path
    complaints: list[str] = field(default_factory=list)
    taken: int = 0

    @contextmanager
    def signed_in(self, who: str, language: str, theme: str, width: int) -> Iterator[Page]:
        height = HEIGHT if width > PHONE else 740
        context = self.browser.new_context(
            base_url=self.url,
            viewport={"width": width, "height": height},
            locale=LANGUAGES[language],
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
        )
        if who:
            context.add_cookies([session_of(who, self.url)])  # type: ignore[list-item]
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        try:
            yield page
        finally:
            context.close()

    def take(self, page: Page, shot: Shot, world: World, name: str) -> None:
        page.goto(address_of(shot, world))
        try:
            shot.act(page)
        except PlaywrightError as error:
            self.complaints.append(f"{name}: {error.message.splitlines()[0]}")
        self.complaints += [f"{name}: {problem}" for problem in page.evaluate(LAYOUT_PROBLEMS)]
        self.folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=self.folder / f"{name}.png", full_page=shot.whole, caret="hide")
        self.taken += 1


def session_of(username: str, url: str) -> dict[str, str]:
    """The cookie of somebody who has just signed in with a password."""
    from django.conf import settings
    from django.test import Client

    from accounts.models import User

    client = Client()
    client.force_login(User.objects.get(username=username))
    session = client.session
    session["account_authentication_methods"] = [
        {"method": "password", "at": time.time(), "username": username, "reauthenticated": True}
    ]
    session.save()
    name = settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value, "url": url}


def rounds(*, readme: bool, all_widths: bool) -> Iterator[tuple[str, str, int]]:
    """Language, theme and width of every round."""
    if all_widths:
        yield from product(LANGUAGES, THEMES, (PHONE, WIDTH, WIDE))
        return
    for language in LANGUAGES:
        for theme in THEMES:
            yield language, theme, WIDTH
    if not readme:
        yield from [(language, "light", NARROW) for language in LANGUAGES]
        yield "en", "dark", NARROW
        yield "en", "light", WIDE


def shots_of(
    language: str, theme: str, width: int, *, readme: bool, all_widths: bool, only: Sequence[str]
) -> list[Shot]:
    if readme:
        return [
            shot
            for shot in (*SHOTS, *STUDY_SHOTS, *REPORT_SHOTS, *COLLECTION_SHOTS)
            if (shot.stem, language, theme) in README_SHOTS
        ]
    wanted = [
        shot
        for shot in (*SHOTS, *STUDY_SHOTS, *REPORT_SHOTS, *COLLECTION_SHOTS)
        if not only or shot.stem in only or shot.name in only
    ]
    return [shot for shot in wanted if all_widths or width == WIDTH or shot.main]


def take_all(camera: Camera, world: World, *, readme: bool, all_widths: bool, only: Sequence[str]) -> None:
    from accounts.models import User

    for language, theme, width in rounds(readme=readme, all_widths=all_widths):
        User.objects.update(language=language, theme="auto")
        shots = shots_of(language, theme, width, readme=readme, all_widths=all_widths, only=only)
        for who in dict.fromkeys(shot.who for shot in shots):
            with camera.signed_in(who, language, theme, width) as page:
                for shot in (shot for shot in shots if shot.who == who):
                    camera.take(page, shot, world, file_name(shot, language, theme, width, readme=readme))


def file_name(shot: Shot, language: str, theme: str, width: int, *, readme: bool) -> str:
    parts = [shot.stem, language.removesuffix("-hans"), theme]
    return "-".join(parts if readme else [*parts, str(width)])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=DEFAULT, help=f"a folder (default: {DEFAULT})")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these pages")
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument(
        "--all-widths", action="store_true", help=f"every page at {PHONE}, {WIDTH} and {WIDE} pixels"
    )
    extent.add_argument("--readme", action="store_true", help="only those of the README, into docs/images/")
    options = parser.parse_args()
    path = chromium.find()
    if path is None:
        sys.stderr.write("There is no Chromium. Install one: python -m tests.chromium\n")
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        camera = _photograph(Path(scratch), path, options)
    for complaint in camera.complaints:
        sys.stderr.write(f"{complaint}\n")
    sys.stdout.write(f"{camera.taken} pictures in {camera.folder}\n")
    return bool(camera.complaints)


def _photograph(scratch: Path, chromium_path: str, options: argparse.Namespace) -> Camera:
    os.environ |= {
        "DJANGO_ALLOW_ASYNC_UNSAFE": "1",
        "FILES_ROOT": str(scratch / "files"),
        "LOG_LEVEL": "WARNING",
    }
    from benchmarks.database import scratch_database, set_up

    set_up()
    from tests.processes import Stack

    with scratch_database(), Stack.on_this_database(scratch) as stack, sync_playwright() as playwright:
        world = fill_world()
        stack.worker("gpu")
        stack.worker("default")
        stack.web()
        folder = README if options.readme else options.output
        browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        camera = Camera(browser, stack.url, folder)
        take_all(camera, world, readme=options.readme, all_widths=options.all_widths, only=options.only)
        browser.close()
    return camera


if __name__ == "__main__":
    sys.exit(main())
