"""The demo's supervisor, with real child processes."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from config import supervisor
from config.supervisor import MAX_EARLY_EXITS, STOP_SECONDS, Service, environment

CHECKOUT = Path(__file__).parent.parent.parent
RUN = """
import sys
from config import supervisor
from config.supervisor import Service, ServiceFailed, Supervisor, environment
supervisor.STOP_SECONDS = {stop_seconds!r}
services = [
    Service(name, [sys.executable, "-u", "-c", code], environment(), remedy=lambda reason: f"Mend {{reason[-5:]}}.")
    for name, code in {services!r}
]
try:
    Supervisor(services).run(lambda: None)
    print("all stopped", flush=True)
except ServiceFailed as why:
    print("failed:", why, flush=True)
"""
WAIT = "import time; print('up', flush=True); time.sleep(600)"
IGNORING = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); "
STUBBORN = IGNORING + "time.sleep(600)"
REPORTING = (
    "import signal, time; signal.signal(signal.SIGTERM, lambda *_: print('asked to stop', flush=True)); "
)
REPORTING += "print('up', flush=True); time.sleep(600)"


class Run:
    def __init__(
        self, out: int = subprocess.PIPE, stop_seconds: float = STOP_SECONDS, **services: str
    ) -> None:
        code = RUN.format(services=list(services.items()), stop_seconds=stop_seconds)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=CHECKOUT, stdout=out, stderr=subprocess.STDOUT, text=True
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
def ends_by_default() -> Iterator[None]:
    """What a process inherits, unless the tests run under nohup or in the background of a script."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGHUP, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def run(ends_by_default: None) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def begin(out: int = subprocess.PIPE, stop_seconds: float = STOP_SECONDS, **services: str) -> Run:
        runs.append(Run(out, stop_seconds, **services))
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


def test_a_child_that_is_killed_again_and_again_is_started_again(run: Callable[..., Run]) -> None:
    demo = run(web=WAIT)
    for _death in range(MAX_EARLY_EXITS):
        assert demo.line() == "web | up"
        demo.children()[0].kill()
        assert "ended with status -9; starts again in" in demo.line()
    assert demo.process.poll() is None


def test_a_child_that_keeps_falling_over_is_started_less_and_less_often(run: Callable[..., Run]) -> None:
    demo = run(web="raise SystemExit(3)")
    lines = [demo.line() for _ in range(2)]
    assert [line[-3:] for line in lines] == ["1 s", "2 s"]


def test_a_child_that_never_gets_up_ends_everything_with_its_reason(run: Callable[..., Run]) -> None:
    crash = "print('reading'); print('Error: no such model', flush=True); print('--', flush=True); raise SystemExit(3)"
    demo = run(web=WAIT, gpu=crash)
    while (line := demo.line()) != "web | up":
        assert line, "it ended before its other child was up"
    children = demo.children()
    *_, line = demo.rest().splitlines()
    assert line == (
        "failed: gpu ended 3 times right after its start (status 3): Error: no such model. Mend model."
    )
    assert gone(children)


def test_earlier_deaths_of_a_child_do_not_count_after_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "SETTLED_SECONDS", 0.0)
    web = Service("web", [sys.executable, "-c", "raise SystemExit(3)"], environment())
    for _ in range(2 * MAX_EARLY_EXITS):
        web.start()
        assert web.process
        web.process.wait()
        web.keep_alive()
    assert web.early_exits == 1


@pytest.mark.parametrize("hangs_up", [True, False], ids=["signal", "no signal"])
def test_everything_stops_when_the_terminal_was_closed(run: Callable[..., Run], hangs_up: bool) -> None:
    """Writing to it fails from then on; and where `make` is its first process, only `make` gets the signal."""
    terminal, ours = pty.openpty()
    demo = run(ours, web=STUBBORN if hangs_up else WAIT)
    os.close(ours)
    assert b"up" in os.read(terminal, 100)
    children = demo.children()
    os.close(terminal)
    for _ in range(2 * hangs_up):
        time.sleep(0.5)
        demo.process.send_signal(signal.SIGHUP)
    demo.process.wait(STOP_SECONDS + 5)
    assert gone(children)


def test_nohup_keeps_it_running(run: Callable[..., Run]) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    demo = run(web=WAIT)
    signal.signal(signal.SIGHUP, before)
    demo.line()
    demo.process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        demo.process.wait(1)


def test_a_second_signal_does_not_wait(run: Callable[..., Run]) -> None:
    demo = run(stop_seconds=3600, web=REPORTING)
    assert demo.line() == "web | up"
    demo.process.send_signal(signal.SIGINT)
    assert demo.line() == "web | asked to stop"
    demo.process.send_signal(signal.SIGINT)
    assert "web did not stop and is killed" in demo.rest()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_children_end_when_the_supervisor_is_killed(run: Callable[..., Run]) -> None:
    demo = run(web=WAIT)
    demo.line()
    children = demo.children()
    os.kill(demo.process.pid, signal.SIGKILL)
    assert gone(children)
