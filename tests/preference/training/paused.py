"""The training command, which pauses for ever after the step PAUSE_AT: a test kills it there, at any speed.

python -m tests.preference.training.paused --data …
"""

from __future__ import annotations

import os
import signal

PAUSE_AT = "PAUSE_AT"  # name of the environment variable

if __name__ == "__main__":
    from preference.training.joint.command import main
    from preference.training.joint.trainer import JointTrainer

    report_step = JointTrainer.report_step

    def report_and_pause(self: JointTrainer) -> None:
        report_step(self)
        if self.state.global_step == int(os.environ[PAUSE_AT]):
            signal.pause()

    JointTrainer.report_step = report_and_pause  # type: ignore[method-assign,assignment]
    main()
