"""What every management command does alike."""

import os
import subprocess
import sys

from tests.config.test_doctor import CHECKOUT


def test_a_reader_that_closes_the_pipe_causes_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    run = subprocess.run(
        [sys.executable, "manage.py", "help"], cwd=CHECKOUT, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert run.returncode == 141
    assert "Traceback" not in run.stderr
    assert "BrokenPipe" not in run.stderr
