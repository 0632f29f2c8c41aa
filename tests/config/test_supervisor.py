"""The demo's supervisor, with real child processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

CHECKOUT = Path(__file__).parent.parent.parent
RUN = """
import sys
from config.supervisor import Service, Supervisor, environment
services = [Service(name, [sys.executable, "-u", "-c", code], environment()) for name, code in {services!r}]
Supervisor(services).run(lambda: None)
print("all stopped", flush=True)
"""
WAIT = "import time; print('up', flush=True); time.sleep(600)"
IGNORING = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); "
STUBBORN = IGNORING + "time.sleep(600)"


class Run:
    def __init__(self, **services: str) -> None:
        code = RUN.format(services=list(services.items()))
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def children(self) -> list[psutil.Process]:
        found: list[psutil.Process] = psutil.Process(self.process.pid).children()
        return found

    def rest(self, seconds: float = 30) -> str:
        return self.process.communicate(timeout=seconds)[0]


@pytest.fixture
def run() -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def begin(**services: str) -> Run:
        runs.append(Run(**services))
        return runs[-1]

    yield begin
    for one in runs:
        one.process.kill()
        one.process.communicate()


def gone(processes: list[psutil.Process], seconds: float = 5) -> bool:
    return not psutil.wait_procs(processes, timeout=seconds)[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_every_child_in_order(run: Callable[..., Run], number: signal.Signals) -> None:
    demo = run(web=WAIT, gpu=WAIT)
    assert {demo.line(), demo.line()} == {"web | up", "gpu | up"}
    children = demo.children()
    demo.process.send_signal(number)
    assert "all stopped" in demo.rest()
    assert demo.process.returncode == 0
    assert gone(children)


def test_a_killed_child_is_started_again(run: Callable[..., Run]) -> None:
    demo = run(web=WAIT)
    demo.line()
    demo.children()[0].kill()
    assert demo.line().endswith("web ended with status -9; starts again in 1 s")
    assert demo.line() == "web | up"


def test_a_child_that_keeps_falling_over_is_started_less_and_less_often(run: Callable[..., Run]) -> None:
    demo = run(web="raise SystemExit(3)")
    lines = [demo.line() for _ in range(2)]
    assert [line[-3:] for line in lines] == ["1 s", "2 s"]


def test_a_second_signal_does_not_wait(run: Callable[..., Run]) -> None:
    demo = run(web=STUBBORN)
    demo.line()
    demo.process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    demo.process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert "web did not stop and is killed" in demo.rest()
    assert time.monotonic() - begun < 5


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_children_end_when_the_supervisor_is_killed(run: Callable[..., Run]) -> None:
    demo = run(web=WAIT)
    demo.line()
    children = demo.children()
    os.kill(demo.process.pid, signal.SIGKILL)
    assert gone(children)
