"""A process of several: it writes its number and its parent, and then does what BEHAVIOUR says to its number.

python -m tests.preference.training.several --output DIR --device cpu --processes 2
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--parent", type=int)
    return parser.parse_args()


def stop(signum: int, _frame: FrameType | None) -> None:
    sys.exit(128 + signum)


def main() -> None:
    options = parse()
    if "LOCAL_RANK" not in os.environ:
        launch(options)
    signal.signal(signal.SIGTERM, stop)
    rank = os.environ["LOCAL_RANK"]
    behaviour = os.environ.get("BEHAVIOUR", "")
    facts = f"{os.getpid()} {options.parent} {options.threads} {os.environ['OMP_NUM_THREADS']}"
    (options.output / f"rank-{rank}").write_text(facts)
    if rank == "1" and behaviour in {"dies", "fails"}:
        wait_for(options.output / "rank-0")
    if rank == "1" and behaviour == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == "1" and behaviour == "fails":
        sys.exit(3)
    while behaviour:
        time.sleep(0.05)


def wait_for(path: Path) -> None:
    """Wait for the other process, which is ended as soon as this one is, to have written its facts."""
    while not path.is_file():
        time.sleep(0.05)


def launch(options: argparse.Namespace) -> None:
    from preference.training.common.launching import Launch, count_processes, run_in_processes
    from preference.training.common.progress import Progress

    launch = Launch("tests.preference.training.several")
    status = run_in_processes(launch, count_processes(options), options, Progress(options.output, quiet=True))
    sys.exit(status)


if __name__ == "__main__":
    main()
