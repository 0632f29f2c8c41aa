"""The labelling workbench in real Chromium: weight of the cold page, the time from submit to the next dialogue, and
from a key to its answer in a long dialogue.

    python -m benchmarks.labelling_page [--submissions 50] [--preset diqad] [--utterances 2000] [--json]

A real web server and database. Every dialogue is answered by keys and submitted; measured in the page, from the key to
the frame in which the next dialogue, or the answer, is painted. Bounds: 50 ms each, in the median; for a cold page
MAX_COLD_BYTES and MAX_COLD_REQUESTS, to which the tests hold it.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.database import scratch_database, set_up
from benchmarks.page import cold_weight
from benchmarks.reporting import command_line, print_figures

# Development serves the scripts with JSDoc, which production does not. The bound is seven standard deviations of the
# random padding over the mean: see benchmarks.page.cold_weight.
MAX_COLD_BYTES = 107_500
MAX_COLD_REQUESTS = 27  # a module and a style sheet are a request each; docs/decisions/0022-script-modules.md
KEYS = {
    "diqad": ["n", "2"],
    "dch": ["y", "y", "5", "y", "y", *["2"] * 20],
    "dialeval": ["5", "5", "5", *["2"] * 20],
    "diamante-evaluation": [*["2"] * 31],
}
# Resolves with the ms from the key to the frame after the one that shows another dialogue.
WATCH = """
() => {
  const before = location.pathname;
  window.measured = new Promise((resolve) => {
    let pressed = 0;
    const press = (event) => { if (event.key === "Enter" && event.ctrlKey) pressed = event.timeStamp; };
    addEventListener("keydown", press, { capture: true });
    const look = () => {
      const isNext = pressed && location.pathname !== before && document.querySelector("#turns > .turn");
      if (!isNext) return requestAnimationFrame(look);
      const painted = new MessageChannel();
      removeEventListener("keydown", press, { capture: true });
      painted.port1.onmessage = () => resolve(performance.now() - pressed);
      painted.port2.postMessage(0);
    };
    look();
  });
}
"""
# Resolves with the median ms from a key to the frame after its answer, of thirty utterances one after the other.
ANSWER = """
async () => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const [taken, how] = [[], { key: "2", bubbles: true, cancelable: true }];
  for (let n = 0; n < 30; n++) {
    const begun = performance.now();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", how));
    await painted();
    taken.push(performance.now() - begun);
  }
  return taken.sort((a, b) => a - b)[15];
}
"""


def submit(page: Page, keys: list[str]) -> float:
    page.wait_for_selector("html[data-ahead='1']")
    for key in keys:
        page.keyboard.press(key)
    page.evaluate(WATCH)
    before = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != before)  # raises if these keys leave a question without an answer
    measured: float = page.evaluate("() => window.measured")
    return measured


def answer(page: Page, address: str, utterances: int) -> float:
    page.goto(address)
    page.keyboard.press("Shift")
    page.wait_for_function(
        "count => document.querySelectorAll('#turns > .turn').length === count", arg=utterances
    )
    for key in KEYS["dch"][:5]:
        page.keyboard.press(key)
    measured: float = page.evaluate(ANSWER)
    page.wait_for_selector("[data-path='30/nugget'][data-active]")  # every key was an answer
    return measured


def run(preset: str, submissions: int, utterances: int) -> dict[str, Any]:
    from accounts.models import User
    from tests import chromium
    from tests.browser.conftest import FLAGS, take_over
    from tests.browser.labelling import annotator, planned
    from tests.processes import Stack

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = (
        "1"  # Playwright's loop runs in this thread, beside Django's queries
    )
    with (
        scratch_database(),
        tempfile.TemporaryDirectory() as folder,
        Stack.on_this_database(Path(folder)) as stack,
        sync_playwright() as playwright,
    ):
        mara = User.objects.create(username="mara")
        project = planned(preset, mara, count=submissions + 2, utterances=20)
        long = planned("dch", mara, slug="long", count=1, utterances=utterances)
        ann = annotator("ann", project)
        annotator("ann", long)
        stack.web()
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        context = browser.new_context(base_url=stack.url)
        take_over(context, ann, stack.url)
        page = context.new_page()
        weight = cold_weight(page, f"/p/{project.slug}/label/")
        page.keyboard.press("Shift")  # work begins: the next dialogue is claimed
        waits = [submit(page, KEYS[preset]) for _ in range(submissions)]
        answered = answer(page, f"/p/{long.slug}/label/", utterances)
        browser.close()
    return {
        **weight,
        "next_painted_ms": round(statistics.median(waits), 1),
        "next_painted_p95_ms": round(statistics.quantiles(waits, n=20)[18], 1),
        "submissions": len(waits),
        f"answer_painted_of_{utterances}_ms": round(answered, 1),
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--submissions", type=int, default=50)
    parser.add_argument("--preset", choices=KEYS, default="diqad")
    parser.add_argument("--utterances", type=int, default=2000, help="of the long dialogue")
    options = parser.parse_args()
    set_up()
    figures = run(options.preset, options.submissions, options.utterances)
    print_figures(figures, as_json=options.json)


if __name__ == "__main__":
    main()
