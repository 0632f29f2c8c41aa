"""What every training command does around training: options, signals, the output folder, exit statuses.

This module loads no PyTorch, so that a wrong option is reported at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from preference.training.common.errors import TrainingError
from preference.training.common.launching import Launch, count_processes, run_in_processes
from preference.training.common.messages import gettext as _
from preference.training.common.messages import join_sentences
from preference.training.common.output import OutputFolder
from preference.training.common.progress import Progress
from preference.training.common.stopping import Stopped, StopRequest

Recipe = TypeVar("Recipe")
INTERRUPTED = 130  # exit status after a second Ctrl-C: 128 + SIGINT


@dataclass(frozen=True, slots=True)
class TrainingSession:
    """One start of a run: where it writes, how it reports, and whether it is to stop.

    A resumed run is several sessions over one output folder.
    """

    output: OutputFolder
    progress: Progress
    stop: StopRequest


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The options that do not change what is computed."""
    add = parser.add_argument
    add("--output", type=Path, required=True, help="new or empty folder, or that of the run to --resume")
    add("--resume", action="store_true", help="go on from the last checkpoint in --output, if there is one")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: a GPU if there is one")
    add("--threads", type=positive_int, help="of PyTorch on the CPU")
    add(
        "--checkpoint-steps",
        type=positive_int,
        metavar="N",
        help="default: every minute, or more rarely if that costs > 5 %% of the time",
    )
    add(
        "--save-as",
        choices=("fp32", "bf16"),
        default="fp32",
        help="weights of the finished model; bf16 takes half the space, also on a GPU that serves it "
        "(default: fp32)",
    )
    add("--keep", type=positive_int, default=2, metavar="N", help="checkpoints to keep (default: the last 2)")
    add("--parent", type=int, metavar="PID", help="stop as on SIGTERM when this process ends")
    add(
        "--quiet",
        action="store_true",
        help="no lines on stdout; progress.jsonl and state.json report the same",
    )


def positive_int(text: str) -> int:
    """A type for argparse, which prints the message of its error together with the option's name."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 1")
    return int(text)


def run_to_status(
    options: argparse.Namespace,
    build_recipe: Callable[[argparse.Namespace], Recipe],
    train: Callable[[argparse.Namespace, Recipe, TrainingSession], None],
    launch: Launch | None = None,
) -> int:
    """Train, and return the exit status: 0 done, 1 failed, 128 + signal stopped.

    options: with those of add_run_options. build_recipe: raises TrainingError for a wrong setting. train: raises
    TrainingError, or Stopped after it has written a checkpoint. launch: how to start several processes, None: the run
    has one, unless a launcher has started this process.

    The exit statuses are those of a shell: whoever started the run can tell a stop (143 for SIGTERM, 130 for SIGINT)
    from a failure without reading a file.
    """
    # torchrun and accelerate set RANK; without them there is one process.
    is_main = os.environ.get("RANK", "0") == "0"
    output, stop = OutputFolder(options.output), StopRequest()
    progress = Progress(options.output, quiet=options.quiet, main=is_main)
    claimed = False
    try:
        # Before anything slow: a signal during the first import must end the run as a later one does.
        stop.listen()
        if options.parent is not None:
            stop.watch_parent(options.parent)
        recipe = build_recipe(options)
        if is_main:
            output.claim(resume=options.resume)
        claimed = True
        if output.finished:
            # --resume after the end: whoever retries a run without knowing its state gets success, not an error.
            progress.say(f"This run has ended; its model is in {output.model}.")
            return 0
        if launch and (processes := count_processes(options)) > 1:
            output.release()  # for the main one of the processes
            return run_in_processes(launch, processes, options, progress)
        train(options, recipe, TrainingSession(output, progress, stop))
        return 0
    except Stopped as stopped:
        progress.stopped(stopped.why)
        progress.say(join_sentences(stopped.why, _("Continue with --resume.")))
        return 128 + stopped.signum
    except KeyboardInterrupt:
        progress.stopped(_("Interrupted while the checkpoint was written."))
        return INTERRUPTED
    except TrainingError as error:
        return _report_failure(progress if claimed else None, error.cause, error.remedy)
    except Exception as error:
        traceback.print_exc()
        return _report_failure(
            progress if claimed else None, f"{type(error).__name__}: {error}", _("See the log.")
        )
    finally:
        stop.close()
        output.release()


def _report_failure(progress: Progress | None, cause: str, remedy: str) -> int:
    """progress: None before the folder is claimed, because it may belong to another run."""
    print(f"{cause}\n{remedy}", file=sys.stderr, flush=True)
    if progress is not None:
        progress.fail(cause, remedy)
    return 1


def let_threads_sleep() -> None:
    """Make OpenMP's waiting threads sleep instead of spin. Call it before PyTorch is loaded.

    Spinning threads slow down everything beside them tenfold (measured on two cores shared with a server: 16.2 s per
    step, against 1.5 s sleeping), and are no faster alone.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def exit_process(status: int) -> NoReturn:
    """End this process without Python's own clean-up.

    A thread of gloo or NCCL that still holds a tensor asks for the interpreter lock, and aborts a process whose
    interpreter is shutting down; a run with a written model would then count as failed (seen in about one run of a
    hundred). A process group held by FSDP cannot be ended earlier.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
