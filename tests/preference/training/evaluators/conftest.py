"""A judge's server process, and replies to score."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from preference.training.common.evaluators import ReplyToScore

MakeReply = Callable[..., ReplyToScore]


@pytest.fixture(scope="session")
def judge_server() -> Iterator[str]:
    """The address of the process; add "/good/v1" or another way to behave."""
    program = Path(__file__).with_name("judge_server.py")
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{process.stdout.readline().decode().strip()}"
        finally:
            process.kill()


def reply(
    number: int | str = 1, response: str = "Fine, thank you.", *history: str, reference: str | None = None
) -> ReplyToScore:
    return ReplyToScore(str(number), history or ("How are you?",), response, reference)
