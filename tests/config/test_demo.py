"""What `make demo` says when it cannot start. That it starts is seen by everybody who tries it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.demo import only_demo_of, remedy_for

CHECKOUT = Path(__file__).parent.parent.parent


def refused(var: Path, **environment: str) -> str:
    """The one line that a demo says which does not start."""
    run = subprocess.run(
        [sys.executable, "-m", "config.demo"],
        cwd=CHECKOUT,
        env={**os.environ, "LAPIDARY_VAR": str(var), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    assert not run.stdout
    return run.stderr


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_is_named_with_the_way_to_another(tmp_path: Path, taken: int) -> None:
    assert refused(tmp_path / "var", LAPIDARY_PORT=str(taken)) == (
        f"Port {taken} is taken by another program. Choose another: LAPIDARY_PORT=8200 make demo\n"
    )


@pytest.mark.parametrize("port", ["web", "0", "70000", "-1"])
def test_an_invalid_port_is_refused(tmp_path: Path, port: str) -> None:
    assert refused(tmp_path / "var", LAPIDARY_PORT=port).startswith(f"LAPIDARY_PORT={port} is not a port.")


def test_an_address_of_another_machine_is_not_called_a_taken_port(tmp_path: Path) -> None:
    output = refused(tmp_path / "var", LAPIDARY_BIND="192.0.2.1")
    assert output.startswith("Cannot listen at 192.0.2.1, port 8000: Cannot assign requested address.")


def test_a_second_demo_in_one_folder_reports_where_the_first_runs(tmp_path: Path) -> None:
    with only_demo_of(tmp_path) as lock:
        lock.write("http://localhost:8000")
        lock.flush()
        assert refused(tmp_path).startswith("The demo of this folder runs already, at http://localhost:8000.")


def test_a_port_that_was_taken_after_the_check_is_named_too() -> None:
    reason = "connection to ('127.0.0.1', 8000) failed: [Errno 98] Address already in use"
    assert remedy_for(reason, 8000).startswith("Port 8000 is taken")
    assert "doctor" in remedy_for("ImportError: no module named x", 8000)
