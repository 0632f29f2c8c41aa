"""The real command, one reply at a time with a pause: a run that can be stopped in the middle.

It appends the id of every reply that it scores to the file that SLOW_SCORER_LOG names.
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preference.training.common.evaluators import Evaluator, ReplyScore, ReplyToScore
from preference.training.evaluators import command

patched: Any = command
build = patched.build_evaluator


class Slow:
    def __init__(self, evaluator: Evaluator) -> None:
        self.name, self._evaluator = evaluator.name, evaluator

    def describe(self) -> dict[str, Any]:
        return self._evaluator.describe()

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        time.sleep(float(os.environ.get("SLOW_SCORER_SECONDS", "0.3")))
        with Path(os.environ["SLOW_SCORER_LOG"]).open("a") as log:
            log.writelines(f"{reply.id}\n" for reply in replies)
        return self._evaluator.score(replies)


patched.BATCH = 1
patched.build_evaluator = lambda text: Slow(build(text))
sys.exit(command.main())
