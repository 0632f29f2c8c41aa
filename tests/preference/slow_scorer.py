"""The real command, one reply at a time with a pause: a run that can be stopped in the middle, where it waits.

It appends the id of every reply that it scores to the file that SLOW_SCORER_LOG names.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preference.training.common.evaluators import Evaluator, ReplyScore, ReplyToScore
from preference.training.evaluators import command

patched: Any = command
PAUSES_AFTER = 4  # replies; the test ends it after two
build = patched.build_evaluator


class Slow:
    def __init__(self, evaluator: Evaluator) -> None:
        self.name, self._evaluator = evaluator.name, evaluator
        self._scored = 0

    def describe(self) -> dict[str, Any]:
        return self._evaluator.describe()

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        pause = float(os.environ.get("SLOW_SCORER_SECONDS", "0.3"))
        if pause and self._scored > PAUSES_AFTER:
            signal.pause()  # until it is ended
        time.sleep(pause)
        self._scored += len(replies)
        with Path(os.environ["SLOW_SCORER_LOG"]).open("a") as log:
            log.writelines(f"{reply.id}\n" for reply in replies)
        return self._evaluator.score(replies)


patched.BATCH = 1
patched.build_evaluator = lambda text: Slow(build(text))
sys.exit(command.main())
