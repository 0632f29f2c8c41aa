"""Judged replies, as rows and as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]
# Two neighbours are swapped twice against 1 … 5: Pearson and Spearman 0.8, Kendall 0.6.
HUMAN = [2, 1, 4, 3, 5]
WORDS = ["a", "b c", "d e f", "g h i j", "k l m n o"]


def row(number: int, **columns: Any) -> Row:
    return {
        "id": str(number),
        "history": [f"Hello {number}!", f"And {number}?"],
        "response": WORDS[number % 5],
        "human": HUMAN[number % 5],
        **columns,
    }


def write_rows(file: Path, rows: Sequence[Row]) -> Path:
    file.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows), encoding="utf-8")
    return file


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "judged.jsonl", [row(number) for number in range(5)])
