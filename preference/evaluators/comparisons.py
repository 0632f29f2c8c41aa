"""Comparison examples for a model that brings none: replies of the project itself, drawn once from a seed."""

import json
from collections import defaultdict
from pathlib import Path
from random import Random

from django.utils.translation import gettext as _

from common.refusals import Refusal


def draw_comparisons(replies: Path, output: Path, *, count: int, seed: int) -> None:
    """Write `count` sent replies, each of another dialogue. replies: rows as reply_rows() gives them.

    Raises Refusal too_few_examples if there are fewer dialogues.
    """
    by_dialogue: dict[int, list[str]] = defaultdict(list)
    with replies.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if "/" not in row["id"] and row["response"].strip():
                by_dialogue[row["dialogue"]].append(row["id"])
    if len(by_dialogue) < count:
        raise Refusal(
            "too_few_examples",
            _(
                "The project has %(dialogues)s dialogues to draw comparison examples from, and %(count)s are needed."
            )
            % {"dialogues": len(by_dialogue), "count": count},
            _("Compare with fewer, or use a model that was trained as PairEval, which brings its own."),
        )
    random = Random(f"{seed}/comparisons")
    drawn = [random.choice(by_dialogue[dialogue]) for dialogue in random.sample(sorted(by_dialogue), count)]
    with replies.open(encoding="utf-8") as lines:
        found = {row["id"]: row for row in map(json.loads, lines) if row["id"] in drawn}
    rows = ({key: found[name][key] for key in ("id", "history", "response")} for name in drawn)
    output.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
