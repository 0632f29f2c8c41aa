"""How the evaluator ends when something happens that nobody foresaw."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from preference.training.joint.evaluation import command


def test_an_unforeseen_error_ends_with_a_line_for_the_cause_and_one_for_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page shows the last two lines, which would else be code."""

    def broken(options: Namespace) -> dict[str, object]:
        raise RuntimeError("CUDA out of memory.\nTried to allocate 2 GiB.")

    monkeypatch.setattr(command, "evaluate", broken)
    assert command.main(["--data", str(tmp_path), "--model", "m"]) == 1
    *_, cause, remedy = capsys.readouterr().err.splitlines()
    assert cause == "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB."
    assert remedy.startswith("See the log above")
