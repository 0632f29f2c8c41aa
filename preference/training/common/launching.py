"""Starting the processes of a run on this machine, through PyTorch's own launcher (torchrun).

    this process ── torchrun ──┬── process 1 (main: writes files)
                               └── process 2

One process per GPU; on a CPU one, unless more are asked for. SIGTERM and Ctrl-C reach all of them, and this process
ends after the last one. If one of them dies, torchrun ends the others; if this process dies, they notice it themselves.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.progress import Progress

# Seconds for a checkpoint after a signal. Whoever sent it has less patience, and kills all processes.
STOP_SECONDS = 600
# What torchrun sets, and accelerate also for a single process.
LAUNCHED = {"LOCAL_RANK", "ACCELERATE_DYNAMO_BACKEND"}
# Exit status of a process that SIGTERM ended, before and after it handles the signal.
ENDED_BY_TORCHRUN = (-signal.SIGTERM, 128 + signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Launch:
    """What every process runs: `python -m module *arguments`. arguments None: those of this process."""

    module: str
    arguments: Sequence[str] | None = None


def add_processes_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="of this machine that divide every step (default: one for each visible GPU, on a CPU one)",
    )


def count_processes(options: argparse.Namespace) -> int:
    """How many processes to start; 1 also in a process that torchrun or accelerate has started.

    options: with device and processes. Raises TrainingError for more processes than GPUs.
    """
    if LAUNCHED & os.environ.keys():
        return 1
    # Imported here because PyTorch takes seconds to load, and a wrong option is to be reported at once.
    import torch

    gpus = 0 if options.device == "cpu" else torch.cuda.device_count()
    wanted: int = max(1, gpus) if options.processes is None else options.processes
    if wanted < 1:
        raise TrainingError(
            _("A run cannot have %(count)s processes.") % {"count": wanted},
            _("Ask for at least one, or leave the number out."),
        )
    if gpus and wanted > gpus:
        raise TrainingError(
            _("%(wanted)s processes are asked for, but PyTorch sees only %(gpus)s GPUs.")
            % {"wanted": wanted, "gpus": gpus},
            _("Ask for at most one process for each GPU, or leave the number out."),
        )
    return wanted


def run_in_processes(launch: Launch, processes: int, options: argparse.Namespace, progress: Progress) -> int:
    """Run in so many processes, and return the exit status when all have ended: 0, 1, or 128 + a signal.

    They report the run themselves, in state.json and on stderr; a process that died cannot, and is reported here.
    """
    import torch.distributed.run
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    torchrun: Any = torch.distributed.run
    words = torchrun.parse_args(_arguments_of_torchrun(launch, processes, options))
    try:
        torchrun.run(words)
    except SignalException as asked:
        return int(128 + asked.sigval)
    except ChildFailedError as error:
        return _report_first(error.failures.values(), processes, progress)
    finally:
        _kill_children()  # a second signal interrupts torchrun while it waits for them
    return 0


def _arguments_of_torchrun(launch: Launch, processes: int, options: argparse.Namespace) -> list[str]:
    """Each process gets its share of the threads, and stops when this process ends."""
    arguments = sys.argv[1:] if launch.arguments is None else launch.arguments
    own = ["--parent", str(os.getpid())]
    if options.threads:
        own += ["--threads", str(max(1, options.threads // processes))]
    threads = int(os.environ.get("OMP_NUM_THREADS") or processes)
    os.environ["OMP_NUM_THREADS"] = str(max(1, threads // processes))
    torchrun = ["--standalone", "--nproc-per-node", str(processes), "--shutdown-timeout", str(STOP_SECONDS)]
    return [*torchrun, "-m", launch.module, *arguments, *own]


def _report_first(failures: Iterable[Any], processes: int, progress: Progress) -> int:
    """Report the first process that failed, unless it has done so; the others ended because of it.

    failures: torchrun's, with local_rank, exitcode (negative: a signal) and timestamp in whole seconds.
    """
    first = min(
        failures,
        # torchrun ends the others with SIGTERM, often in the same second.
        key=lambda failure: (failure.exitcode in ENDED_BY_TORCHRUN, failure.timestamp, failure.exitcode >= 0),
    )
    if first.exitcode in (128 + signal.SIGTERM, 128 + signal.SIGINT):
        return int(first.exitcode)
    if first.exitcode >= 0 and progress.has_failed():
        return 1
    cause, remedy = _why_ended(first.local_rank + 1, processes, first.exitcode)
    print(f"{cause}\n{remedy}", file=sys.stderr, flush=True)
    progress.state("failed", cause, remedy)
    return 1


def _why_ended(number: int, processes: int, status: int) -> tuple[str, str]:
    """Cause and remedy for a process that ended with this status."""
    who = {"number": number, "processes": processes}
    if status >= 0:
        template = _("Process %(number)s of %(processes)s ended with status %(status)s.")
        return template % {**who, "status": status}, _("See the log.")
    name = signal.Signals(-status).name
    if -status == signal.SIGKILL:
        return (
            _("Process %(number)s of %(processes)s was killed, probably because memory ran out.") % who,
            _("Set a smaller token_budget, use LoRA or a smaller model, or free memory; then resume it."),
        )
    return (
        _("Process %(number)s of %(processes)s crashed (%(signal)s).") % {**who, "signal": name},
        _("Resume it; if it crashes again, see the log."),
    )


def _kill_children() -> None:
    for child in psutil.Process().children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
