"""The workbench in real Chromium: weight of the cold page, and how long a person waits after sending.

    python -m benchmarks.page [--turns 20] [--rest 1.5] [--json]

The demo model on a real worker. Turns alternate between two ways of writing: the draft rests before it is sent (its
candidates can be generated ahead), and it is sent at once. Measured in the page, from the key to the frame in which the
turn, and then the new candidates, are painted. Bounds: one frame, 16.7 ms; for a cold page MAX_COLD_BYTES and
MAX_COLD_REQUESTS, to which the tests hold it.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.database import scratch_database, set_up
from benchmarks.reporting import command_line, print_figures

MAX_COLD_BYTES = 86_000  # seven standard deviations of the padding over the mean: see cold_weight
MAX_COLD_REQUESTS = 22
# Resolves when the turn is painted and when the next turn's candidates are; times in ms since the key was pressed.
WATCH = """
() => {
  const turns = document.querySelector("#turns");
  const list = document.querySelector("#candidates [data-list]");
  const before = turns.children.length;
  const text = () => [...list.querySelectorAll("[data-place] [data-text]")].map((one) => one.textContent).join("\\n");
  const old = text();
  let pressed = 0;
  const press = (event) => { if (event.key === "Enter") pressed = performance.now(); };
  addEventListener("keydown", press, { capture: true });
  window.measured = new Promise((resolve) => {
    const found = {};
    const look = () => {
      if (!pressed) return requestAnimationFrame(look);
      const now = performance.now() - pressed;
      if (found.turn === undefined && turns.children.length > before) found.turn = now;
      const shown = list.querySelectorAll("[data-place]").length;
      const renewed = found.turn !== undefined && shown && text() !== old;
      if (renewed) found.candidates = now;
      if (renewed) return resolve(found);
      if (now > 60000) return resolve(found);
      requestAnimationFrame(look);
    };
    look();
  });
}
"""
OPENINGS = [
    "My cat started shedding everywhere this spring.",
    "I tried to bake bread and it came out like a brick.",
]
WORDS = [
    "That happens to me as well.",
    "What did you do about it?",
    "I would not have thought of that.",
    "How long ago was it?",
]


def cold_weight(page: Page, address: str) -> dict[str, int]:
    """Compressed bytes on the wire and requests of the first visit, headers included.

    Django's GZipMiddleware pads each answer with 0 to 99 random bytes (against BREACH), so the weight of the same page
    differs from visit to visit: with 22 to 27 answers, by a standard deviation of 135 to 150 bytes.
    """
    session: CDPSession = page.context.new_cdp_session(page)
    session.send("Network.enable")
    received: dict[str, float] = {}
    session.on(
        "Network.loadingFinished",
        lambda event: received.update({event["requestId"]: event["encodedDataLength"]}),
    )
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.wait_for_load_state("networkidle")
    session.detach()
    return {"cold_bytes": int(sum(received.values())), "cold_requests": len(received)}


def send_turn(page: Page, text: str, rest: float) -> Mapping[str, float]:
    page.locator("#words").fill(text)
    if rest:
        time.sleep(rest)
    page.evaluate(WATCH)
    page.keyboard.press("Control+Enter")
    measured: Mapping[str, float] = page.evaluate("() => window.measured")
    return measured


def converse(page: Page, turns: int, rest: float) -> dict[str, list[Mapping[str, float]]]:
    waits: dict[str, list[Mapping[str, float]]] = {"rested": [], "at_once": []}
    send_turn(page, OPENINGS[0], 0)
    for turn in range(turns * 2):
        way = "rested" if turn % 2 else "at_once"
        text = f"{WORDS[turn % len(WORDS)]} {turn + 1}"
        waits[way].append(send_turn(page, text, rest if way == "rested" else 0))
    return waits


def summarize(weight: dict[str, int], waits: dict[str, list[Mapping[str, float]]]) -> dict[str, Any]:
    def median(way: str, event: str) -> float:
        return round(statistics.median(wait.get(event, 60_000.0) for wait in waits[way]), 1)

    every = [wait["turn"] for way in waits.values() for wait in way]
    medians = {way: median(way, "candidates") for way in waits}
    return {
        **weight,
        "turn_painted_ms": round(statistics.median(every), 1),
        "candidates_after_rest_ms": medians["rested"],
        "candidates_at_once_ms": medians["at_once"],
        "zero_wait_ratio": round(medians["at_once"] / medians["rested"], 2),
        "turns": len(every),
    }


def claim_workbench(username: str) -> tuple[str, str]:
    """A person with a claimed dialogue: the address of its workbench and a session key."""
    from django.test import Client

    from accounts.models import User
    from annotation.authoring.services.planning import plan_dialogues
    from annotation.project_setup.services import create_project
    from annotation.tasks.services.claiming import claim_next_task
    from projects.models import Membership, Role

    project = create_project(slug="page", preset="diamante", actor=None, language="en")
    plan_dialogues(project=project, actor=None, count=3, plan_id=uuid4())
    person = User.objects.create(username=username)
    Membership.objects.create(project=project, user=person, roles=[Role.ANNOTATOR])
    assignment = claim_next_task(annotator=person, project=project, claim_id=uuid4())
    client = Client()
    client.force_login(person)
    return f"/p/page/a/{assignment.pk}/", client.cookies["sessionid"].value


def run(turns: int, rest: float) -> dict[str, Any]:
    from jobs.models import Worker
    from tests import chromium
    from tests.browser.conftest import FLAGS
    from tests.processes import Stack, wait_until

    # Playwright's loop runs in this thread, beside Django's queries.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with (
        scratch_database(),
        tempfile.TemporaryDirectory() as folder,
        Stack.on_this_database(Path(folder)) as stack,
        sync_playwright() as playwright,
    ):
        address, session = claim_workbench("ann")
        stack.worker("default,gpu", "worker")
        stack.web()
        wait_until(Worker.objects.exists, 60, "the worker")
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        context = browser.new_context(base_url=stack.url)
        context.add_cookies([{"name": "sessionid", "value": session, "url": stack.url}])
        page = context.new_page()
        weight = cold_weight(page, address)
        waits = converse(page, turns, rest)
        browser.close()
    return summarize(weight, waits)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--turns", type=int, default=20, help="of each way")
    parser.add_argument("--rest", type=float, default=1.5, help="seconds that a draft rests")
    options = parser.parse_args()
    set_up()
    figures = run(options.turns, options.rest)
    print_figures(figures, as_json=options.json)


if __name__ == "__main__":
    main()
