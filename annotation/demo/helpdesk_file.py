"""The helpdesk dialogues of the demo with the labels of three demo robots, as a file of the format `dialeval`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).parent
LANGUAGES = ("en", "zh")
ROBOTS = 3
SEED = 3
ON_THE_EDGE = 0.3  # how often a robot is one step off on a scale
OTHER_NUGGET = 0.12  # how often a robot chooses another nugget type
OTHERS = {"CNUG0": "CNUG", "CNUG": "CNaN", "CNUG*": "CNUG", "HNUG": "HNaN", "HNUG*": "HNUG", "NAN": "NAN"}
NOTHING = {"customer": "CNaN", "helpdesk": "HNaN"}


@dataclass(slots=True)
class Case:
    """One dialogue: (speaker, nugget type, text) by utterance, and the answers of a careful annotator to A, S and E."""

    name: str
    quality: dict[str, int]
    lines: list[tuple[str, str, str]] = field(default_factory=list)


def load_cases(language: str) -> list[Case]:
    """The dialogues of helpdesk_<language>.txt."""
    cases: list[Case] = []
    for line in (HERE / f"helpdesk_{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("=="):
            name, *scores = line.removeprefix("==").split()
            cases.append(Case(name, dict(zip(scores[::2], map(int, scores[1::2]), strict=True))))
        elif line and not line.startswith("#"):
            about, text = line.split(": ", 1)
            speaker, nugget = about.split()
            cases[-1].lines.append((speaker, nugget, text))
    return cases


def helpdesk_file(labelled: int) -> bytes:
    """All dialogues, alternating languages; the first `labelled` have the robots' annotations."""
    dice = Random(SEED)
    rows = [_row(case, dice, n < labelled) for n, case in enumerate(_alternating_cases())]
    return json.dumps(rows, ensure_ascii=False, indent=1).encode()


def _alternating_cases() -> Iterator[Case]:
    for pair in zip(*(load_cases(language) for language in LANGUAGES), strict=True):
        yield from pair


def _row(case: Case, dice: Random, labelled: bool) -> dict[str, Any]:
    turns = [{"sender": speaker, "utterances": [text]} for speaker, _nugget, text in case.lines]
    annotations = [_annotation(case, dice) for _robot in range(ROBOTS)] if labelled else []
    return {"id": f"helpdesk-{case.name}", "turns": turns, "annotations": annotations}


def _annotation(case: Case, dice: Random) -> dict[str, Any]:
    nuggets = [_nugget(line, dice) for line in case.lines]
    return {
        "nugget": nuggets,
        "quality": {name: str(_nearby(value, dice)) for name, value in case.quality.items()},
    }


def _nugget(line: Sequence[str], dice: Random) -> str:
    speaker, nugget, _text = line
    chosen = OTHERS[nugget] if dice.random() < OTHER_NUGGET else nugget
    return NOTHING[speaker] if chosen == "NAN" else chosen


def _nearby(value: int, dice: Random) -> int:
    off = dice.choice([-1, 1]) if dice.random() < ON_THE_EDGE else 0
    return max(-2, min(2, value + off))
