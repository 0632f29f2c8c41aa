"""The demo dialogues as they stand in en.txt and zh.txt.

## KEY AUTHOR DAYS STATE [EXPERT]   begins a dialogue, finished so many days ago; STATE: passed, vetoed, unreviewed, or
                                   open and saved for one that is still being written
! reason, !N remark on turn N      of a veto
  opening                          two blanks
= text                             selected: a candidate as it was
~ text << candidate                revised from a candidate
+ text                             rewritten
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
LANGUAGES: Final = ("en", "zh")
CANDIDATES: Final = HERE / "candidates.json"
SIGNS: Final = {"  ": "", "= ": "select", "~ ": "revise", "+ ": "rewrite"}


@dataclass(frozen=True, slots=True)
class Line:
    """An utterance; action: "" for the opening; source: the candidate that it was selected or revised from."""

    text: str
    action: str
    source: str = ""


@dataclass(slots=True)
class Script:
    """A dialogue to be written: by whom, how many days ago, and what became of it. remarks: by turn, from 1."""

    key: str
    language: str
    author: str
    days_ago: int
    state: str
    expert: str = ""
    reason: str = ""
    remarks: dict[int, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)


def scripts() -> list[Script]:
    """The oldest first."""
    found = [script for language in LANGUAGES for script in _read(language)]
    return sorted(found, key=lambda script: -script.days_ago)


def _read(language: str) -> Iterator[Script]:
    script: Script | None = None
    for line in (HERE / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            if script:
                yield script
            key, author, days, state, *expert = line[3:].split()
            script = Script(key, language, author, int(days), state, expert[0] if expert else "")
        elif script and line and not line.startswith("# "):
            _add(script, line)
    if script:
        yield script


def _add(script: Script, line: str) -> None:
    if not line.startswith("!"):
        text, _arrow, source = line[2:].partition(" << ")
        action = SIGNS[line[:2]]
        script.lines.append(Line(text, action, text if action == "select" else source))
        return
    place, _blank, words = line[1:].partition(" ")
    if place:
        script.remarks[int(place)] = words
    else:
        script.reason = words


def other_candidates() -> dict[str, list[list[str]]]:
    """What the demo model said to each dialogue: nine texts for every turn after the opening."""
    read: dict[str, list[list[str]]] = json.loads(CANDIDATES.read_text(encoding="utf-8"))
    return read
