"""In which language a run speaks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from preference.training.common import messages

STOPPED = "Stopped by another process."
ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("language", ["zh-hans", "zh_Hans", "ZH-HANS"])
def test_chinese_comes_from_the_catalogue_of_the_pages(language: str) -> None:
    assert messages.catalogue(language).gettext(STOPPED) == "已被另一个进程停止。"


@pytest.mark.parametrize("language", ["", "en", "fr", "../.."])
def test_a_language_without_a_catalogue_is_english(language: str) -> None:
    assert messages.catalogue(language).gettext(STOPPED) == STOPPED
    assert [messages.catalogue(language).ngettext("one", "many", count) for count in (1, 2)] == [
        "one",
        "many",
    ]


def test_two_sentences_have_a_space_between_them_only_where_both_are_there() -> None:
    assert messages.join_sentences("One.", "Two.") == "One. Two."
    assert (messages.join_sentences("One.", ""), messages.join_sentences("", "Two.")) == ("One.", "Two.")


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("zh-hans", ["batch 为 0，但不得小于 1。", "请改正：--set batch=…"]),
        (None, ["batch is 0, and must be at least 1.", "Correct it: --set batch=…"]),
    ],
)
def test_a_run_speaks_the_language_that_is_asked_for(
    tmp_path: Path, language: str | None, said: list[str]
) -> None:
    """Whatever that of the terminal is."""
    environment = {**os.environ, "LANG": "zh_CN.UTF-8", "PYTHONIOENCODING": "utf-8"}
    environment.pop(messages.LANGUAGE, None)
    environment |= {messages.LANGUAGE: language} if language else {}
    named = ["--data", "d", "--model", "m", "--output", str(tmp_path / "run"), "--set", "batch=0"]
    ended = subprocess.run(
        [sys.executable, "-m", "preference.training.joint", *named],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr.decode().splitlines()) == (1, said)
