"""Reads the scripts of the demo dialogues, en.txt and zh.txt. The format, line by line:

## KEY AUTHOR DAYS STATE [EXPERT]   starts a dialogue, finished DAYS ago; STATE: passed, vetoed or unreviewed; open or
                                   saved for a dialogue that is still being written
! reason, !N remark on turn N      of a veto
  opening                          begins with two spaces
= text                             selected: equals a candidate
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
class ScriptLine:
    """An utterance. action: "" for the opening. source: the candidate that it was selected or revised from."""

    text: str
    action: str
    source: str = ""


@dataclass(slots=True)
class Script:
    """A dialogue to write: its author, how many days ago, and its final state. remarks: by turn, from 1."""

    key: str
    language: str
    author: str
    days_ago: int
    state: str
    expert: str = ""
    reason: str = ""
    remarks: dict[int, str] = field(default_factory=dict)
    lines: list[ScriptLine] = field(default_factory=list)


def load_scripts() -> list[Script]:
    """All scripts, the oldest dialogue first."""
    scripts = [script for language in LANGUAGES for script in _read(language)]
    return sorted(scripts, key=lambda script: -script.days_ago)


def _read(language: str) -> Iterator[Script]:
    script: Script | None = None
    for line in (HERE / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            if script:
                yield script
            key, author, days, state, *expert = line[3:].split()
            script = Script(key, language, author, int(days), state, expert[0] if expert else "")
        elif script and line and not line.startswith("# "):
            _add_line(script, line)
    if script:
        yield script


def _add_line(script: Script, line: str) -> None:
    if not line.startswith("!"):
        text, _arrow, source = line[2:].partition(" << ")
        action = SIGNS[line[:2]]
        script.lines.append(ScriptLine(text, action, text if action == "select" else source))
        return
    place, _blank, words = line[1:].partition(" ")
    if place:
        script.remarks[int(place)] = words
    else:
        script.reason = words


def load_candidates() -> dict[str, list[list[str]]]:
    """The demo model's candidates by dialogue: nine texts for every turn after the opening."""
    candidates: dict[str, list[list[str]]] = json.loads(CANDIDATES.read_text(encoding="utf-8"))
    return candidates
