"""How large the tests are: small in `make test`, full in `make soak`, which sets TEST_SIZE=full.

Small sizes still reach every branch; full sizes look for what happens rarely.
"""

import os
from itertools import product
from typing import Final

FULL: Final = os.environ.get("TEST_SIZE") == "full"

ANNOTATORS: Final = 50 if FULL else 12  # who work at once
AUTHORED_TASKS: Final = 2_000 if FULL else 30
LABELLED_DIALOGUES: Final = 3_334 if FULL else 30  # three people label each: some 10,000 claims
RACES: Final = 30 if FULL else 6  # how often two people try to do the same thing at once
KILLS: Final = 100 if FULL else 6
DIALOGUES_BY_KEYBOARD: Final = 20 if FULL else 2  # for each preset and language
SAMPLE: Final = 100 if FULL else 20  # dialogues of a batch that a controller judges in the browser
OPENAPI_EXAMPLES: Final = 8 if FULL else 2  # valid and invalid ones, for each operation
SELF_CHATS: Final = (
    50 if FULL else 5
)  # openings that two models of the registry continue, rated by three people
MACHINE_LABELS: Final = 2_000 if FULL else 40  # of a batch that controllers sample
STALLED_UPLOADS: Final = 200 if FULL else 20  # held open while people work
REDIS_AWAY_SECONDS: Final = 60 if FULL else 3
# For one request of an annotator meanwhile. Small: patient with a busy machine, shorter than any wait for what fails.
LONGEST_WAIT_SECONDS: Final = 1.0 if FULL else 8.0
CHAT_INPUTS: Final = 10 if FULL else 2  # of a participant in each conversation of the whole study
# Width in CSS pixels, language, theme of a page that is checked for access. Small: each value once; full: all together.
LOOKS: Final = list(product((360, 1280), ("en", "zh-hans"), ("light", "dark")))
if not FULL:
    LOOKS[:] = [(360, "zh-hans", "dark"), (1280, "en", "light")]
ASSESSED_DIALOGUES: Final = 6_000 if FULL else 900  # what every kind of assessor learns from
COVERAGE_CASES: Final = None if FULL else 1  # boundary values of each operation of the API; None: all
