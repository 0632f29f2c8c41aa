"""Several processes of one machine: each has its share, all end together, and one that dies is reported."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from preference.training.common.errors import TrainingError
from preference.training.common.launching import _report_first, count_processes
from preference.training.common.progress import Progress
from tests.preference.training.conftest import state_of
from tests.processes import PATIENCE, wait_until

Starts = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def starts(tmp_path: Path) -> Iterator[Starts]:
    """starts(behaviour) starts two processes, which behave so."""
    started: list[subprocess.Popen[bytes]] = []

    def start(behaviour: str) -> subprocess.Popen[bytes]:
        words = ["--output", str(tmp_path), "--processes", "2", "--threads", "4"]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.preference.training.several", *words],
            env={**os.environ, "BEHAVIOUR": behaviour, "OMP_NUM_THREADS": "4"},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def facts_of(folder: Path, rank: int) -> list[int]:
    """Of a process: its id, its parent's, threads of PyTorch, of OpenMP."""
    path = folder / f"rank-{rank}"
    wait_until(lambda: path.is_file() and bool(path.read_text()), 60, f"the start of process {rank}")
    return [int(word) for word in path.read_text().split()]


def test_each_process_has_its_share_of_the_threads_and_all_end_with_the_launcher(
    starts: Starts, tmp_path: Path
) -> None:
    launcher = starts("waits")
    found = [facts_of(tmp_path, rank) for rank in (0, 1)]
    assert [facts[1:] for facts in found] == [[launcher.pid, 2, 2]] * 2
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(60 * PATIENCE) == 128 + signal.SIGTERM
    assert not any(psutil.pid_exists(facts[0]) for facts in found)


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        ("dies", "Process 2 of 2 was killed, probably because memory ran out."),
        ("fails", "Process 2 of 2 ended with status 3."),
    ],
)
def test_a_process_that_ends_ends_the_others_and_is_reported(
    starts: Starts, tmp_path: Path, behaviour: str, cause: str
) -> None:
    launcher = starts(behaviour)
    assert launcher.wait(60 * PATIENCE) == 1
    assert (state_of(tmp_path)["state"], state_of(tmp_path)["message"]) == ("failed", cause)
    assert state_of(tmp_path)["remedy"]
    assert not psutil.pid_exists(facts_of(tmp_path, 0)[0])


@dataclass(frozen=True)
class Failure:
    """What torchrun says of a process that failed."""

    local_rank: int
    exitcode: int
    timestamp: int = 0


@pytest.mark.parametrize("terminated", [-signal.SIGTERM, 128 + signal.SIGTERM])
@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (-signal.SIGKILL, "Process 2 of 2 was killed, probably because memory ran out."),
        (3, "Process 2 of 2 ended with status 3."),
    ],
)
def test_the_process_that_failed_is_reported_and_not_the_one_that_was_ended_because_of_it(
    tmp_path: Path, terminated: int, status: int, cause: str
) -> None:
    failures = [Failure(0, terminated), Failure(1, status)]
    assert _report_first(failures, 2, Progress(tmp_path, quiet=True)) == 1
    assert state_of(tmp_path)["message"] == cause


def asked(processes: int | None, device: str = "auto") -> argparse.Namespace:
    return argparse.Namespace(processes=processes, device=device)


@pytest.mark.parametrize(
    ("gpus", "options", "count"),
    [
        (0, asked(None), 1),
        (0, asked(3), 3),
        (4, asked(None), 4),
        (4, asked(2), 2),
        (4, asked(None, "cpu"), 1),
        (4, asked(6, "cpu"), 6),
    ],
)
def test_every_visible_gpu_has_a_process(
    monkeypatch: pytest.MonkeyPatch, gpus: int, options: argparse.Namespace, count: int
) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)
    assert count_processes(options) == count
    for set_by_launcher in ("LOCAL_RANK", "ACCELERATE_DYNAMO_BACKEND"):
        with monkeypatch.context() as launched:
            launched.setenv(set_by_launcher, "0")
            assert count_processes(options) == 1


@pytest.mark.parametrize(
    ("processes", "cause"),
    [
        (3, "3 processes are asked for, but PyTorch sees only 2 GPUs."),
        (0, "A run cannot have 0 processes."),
    ],
)
def test_a_wrong_number_of_processes_is_refused(
    monkeypatch: pytest.MonkeyPatch, processes: int, cause: str
) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(TrainingError) as refused:
        count_processes(asked(processes))
    assert refused.value.cause == cause
    assert refused.value.remedy
