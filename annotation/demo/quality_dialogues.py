"""Questions and answers whose quality people judge in the demo: quality_<language>.txt."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
LANGUAGES: Final = ("en", "zh")
ROLES: Final = ("user", "assistant")


@dataclass(slots=True)
class QualityDialogue:
    """answers: of a careful reader to the questions of the preset diqad."""

    name: str
    language: str
    answers: dict[str, Any]
    lines: list[str] = field(default_factory=list)


@cache
def quality_dialogues() -> dict[str, QualityDialogue]:
    """By the id that they are imported with; the languages alternate."""
    pairs = zip(*map(_read, LANGUAGES), strict=True)
    return {f"{one.language}-{one.name}": one for pair in pairs for one in pair}


def _read(language: str) -> Iterator[QualityDialogue]:
    text = (HERE / f"quality_{language}.txt").read_text(encoding="utf-8")
    for block in text.split("\n== ")[1:]:
        head, *lines = block.splitlines()
        yield QualityDialogue(*_read_head(head, language), [line for line in lines if line])


def _read_head(head: str, language: str) -> tuple[str, str, dict[str, Any]]:
    """ "basil  verify 0  quality 1  less_informative": name, language and answers."""
    name, _verify, verify, _quality, quality, *reasons = head.split()
    answers: dict[str, Any] = {"verify": int(verify), "quality": int(quality)}
    if reasons:
        answers[f"reasons_{quality}"] = reasons
    return name, language, answers


def quality_file() -> bytes:
    """All of them as a file of the format `messages`."""
    rows = (_row(id_, dialogue) for id_, dialogue in quality_dialogues().items())
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


def _row(id_: str, dialogue: QualityDialogue) -> dict[str, Any]:
    messages = [{"role": ROLES[place % 2], "content": text} for place, text in enumerate(dialogue.lines)]
    return {"id": id_, "language": dialogue.language, "messages": messages}
