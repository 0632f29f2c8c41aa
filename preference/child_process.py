"""Long computations in a child process that a job follows.

A crash, an out-of-memory kill or a cancellation does not end the worker, and the worker itself does not load torch.
"""

import contextlib
import fcntl
import itertools
import logging
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import psutil
from django.conf import settings
from django.db import close_old_connections
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from common.database import CONNECTION_ERRORS
from common.refusals import Refusal
from jobs.progress import JobCancelled, JobInterrupted, JobLost, Progress
from preference.training.common.messages import LANGUAGE

logger = logging.getLogger(__name__)

QUEUE = "training"  # of the Celery workers that follow such processes
LOOK_EVERY = 0.5  # seconds
NICENESS = 10  # lower priority than serving candidates
# A process whose worker was killed has this many seconds to stop itself before it is killed.
ORPHAN_SECONDS = 60.0
TAIL = 256 * 1024  # bytes of a log that are kept
SECRETS = ("DATABASE_URL", "REDIS_URL")
SECRET_ENDS = ("_KEY", "_SECRET", "_TOKEN", "_PASSWORD")
SERVER_KEYS = "LAPIDARY_KEY_"  # what keys of model servers begin with (generation.generators.KEY_VARIABLE)
HUB_TOKEN = "HF_TOKEN"  # noqa: S105  the name of the variable; a base model may need it
PID_FILE = "process"
KILLED = (-9, 137)


def start(
    module: str, arguments: Sequence[str], folder: Path, log: str, *, keys: Collection[str] = ()
) -> "subprocess.Popen[bytes]":
    """Start `python -m module` with its output appended to a log in `folder`, which must exist.

    Its messages are in the language active here, which is that of the person who started the job. keys: environment
    variables with keys of servers that it needs; it gets no other secret.
    """
    environment = {name: value for name, value in os.environ.items() if name in keys or not _is_secret(name)}
    environment |= {"PYTHONUNBUFFERED": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment |= {LANGUAGE: get_language() or "", "PYTHONIOENCODING": "utf-8"}
    if settings.TRAINING_THREADS:
        environment["OMP_NUM_THREADS"] = str(settings.TRAINING_THREADS)
    with (folder / log).open("ab") as out:
        # A session of its own: Ctrl-C and the end of the worker reach it only through this module.
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=settings.BASE_DIR,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    # The process reports a full disk itself; an error here would leave it without a follower.
    with contextlib.suppress(OSError):
        (folder / PID_FILE).write_text(str(process.pid))
    with contextlib.suppress(psutil.Error):  # it may have ended by now
        psutil.Process(process.pid).nice(NICENESS)
    return process


def _is_secret(name: str) -> bool:
    named = name.startswith(SERVER_KEYS) or name.endswith(SECRET_ENDS)
    return name in SECRETS or (named and name != HUB_TOKEN)


def follow(
    process: "subprocess.Popen[bytes]",
    progress: Progress,
    done: Callable[[], int] = lambda: 0,
    seconds: float | None = None,
) -> int:
    """Wait for the process, reporting `done()`; returns its exit status, negative for a signal.

    When the job is to stop, the process gets SIGTERM, after `seconds` (default TRAINING_STOP_SECONDS) SIGKILL; then
    JobCancelled, JobInterrupted or JobLost is raised. The process never outlives this call.
    """
    patience = settings.TRAINING_STOP_SECONDS if seconds is None else seconds
    asked: Exception | None = None
    deadline = math.inf
    try:
        while process.poll() is None:
            stop = _report(progress, done)
            if stop and asked is None:
                asked, deadline = stop, time.monotonic() + patience
                process.terminate()
            if time.monotonic() > deadline:
                kill_tree(process.pid)
            time.sleep(LOOK_EVERY)
    finally:
        _end(process, patience)
    if asked:
        raise asked
    return process.returncode


def _report(progress: Progress, done: Callable[[], int]) -> Exception | None:
    """The exception that asks the job to stop, or None."""
    try:
        report_if_connected(progress, done)
        progress.stop_if_worker_ends()
    except (JobCancelled, JobInterrupted, JobLost) as stop:
        return stop
    return None


def report_if_connected(progress: Progress, done: Callable[[], int]) -> None:
    """Report `done()`; a restarting database stops nothing. Raises JobCancelled or JobLost."""
    try:
        progress.report(done())
    except CONNECTION_ERRORS:
        logger.warning("the database cannot be reached; the process continues")
        close_old_connections()


def _end(process: "subprocess.Popen[bytes]", patience: float) -> None:
    """Stop the process after Ctrl-C or an error."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        kill_tree(process.pid)
        process.wait()


def kill_tree(pid: int) -> None:
    """Kill a process and all that it has started."""
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in family:  # parents first, or they would start others
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()


def wait_for_orphan(folder: Path, progress: Progress, lock: str) -> None:
    """Return when no process of an earlier attempt writes into the folder.

    Such a process notices within seconds that its worker was killed, and stops after a checkpoint; otherwise it is
    killed. Raises Refusal still_running if it runs on another machine.
    """
    kill_at = time.monotonic() + ORPHAN_SECONDS
    give_up_at = kill_at + ORPHAN_SECONDS + 5
    while _is_locked(folder / lock):
        progress.heartbeat()
        if time.monotonic() > kill_at:
            kill_orphan(folder)
        if time.monotonic() > give_up_at:
            raise Refusal(
                "still_running",
                _("An earlier attempt is still running, perhaps on another machine."),
                _("Stop it there, then start this again."),
            )
        time.sleep(LOOK_EVERY)


def _is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def kill_orphan(folder: Path) -> None:
    """Kill the process that start() began in this folder, unless it has ended and its pid was reused.

    Also processes that it had started to write there, if it has left them behind.
    """
    with contextlib.suppress(OSError, ValueError, psutil.Error):
        process = psutil.Process(int((folder / PID_FILE).read_text()))
        if any(str(folder) in word for word in process.cmdline()):
            kill_tree(process.pid)
            process.wait(5)
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if _writes_into(process.cmdline(), folder):
                process.kill()
                process.wait(5)


def _writes_into(command: Sequence[str], folder: Path) -> bool:
    return any(pair == ("--output", str(folder)) for pair in itertools.pairwise(command))


def failure(log: Path, status: int, code: str) -> Refusal:
    """Why a process ended with this status. The last two lines of its log are cause and remedy."""
    if status in KILLED:
        return Refusal(
            "killed",
            _("The operating system killed the process, probably because memory ran out."),
            _("Free memory, or use a smaller model."),
        )
    cause, remedy = ["", "", *lines_of(log)][-2:]
    if not cause:
        cause, remedy = remedy or _("The process ended without a message."), ""
    return Refusal(code, cause[:500], remedy[:500])


def keep_tail(path: Path) -> None:
    """Shorten a log to its last TAIL bytes, starting at a line."""
    if path.is_file() and path.stat().st_size > TAIL:
        with path.open("rb") as file:
            file.seek(-TAIL, os.SEEK_END)
            path.write_bytes(file.read().partition(b"\n")[2])


def last_line(path: Path) -> str:
    """The last line of a log that is not blank."""
    return next(reversed(lines_of(path)), "")[:500]


def lines_of(path: Path) -> list[str]:
    """The lines of a log that are not blank."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return [line.strip() for line in text.splitlines() if line.strip()]
