"""Comparison examples: the conversations that every reply is compared with (PairEval, section 4.1.3).

They are drawn once, from a seed, and stored as comparisons.jsonl beside the model: scores are comparable only among
replies that met the same examples. A row is one of the format that replies to score have:

    {"id": "dialogue-17", "history": ["Hi!", "Hello."], "response": "How are you?", "knowledge": "…", "human": 4.2}

`human`, how a person scored the example, is needed for weights by human scores only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyToScore, read_replies
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext
from preference.training.paireval.corpus import Example

COMPARISONS_FILE = "comparisons.jsonl"
DRAWN = 7  # examples that are stored beside a trained model, so that `--k` can be raised


def read_comparisons(file: Path) -> list[ReplyToScore]:
    """The examples of a file, in its order. Raises TrainingError for a broken file, and for an empty response."""
    comparisons = read_replies(file)
    empty = next((one.id for one in comparisons if not one.response), None)
    if empty is not None:
        raise TrainingError(
            _("The comparison example %(id)s in %(file)s has an empty response.")
            % {"id": empty, "file": file},
            _("Remove it, or draw new examples."),
        )
    return comparisons


def draw_comparisons(examples: Sequence[Example], count: int, seed: int) -> list[ReplyToScore]:
    """`count` true replies with their histories, each from another dialogue.

    From the split `valid` if there is one, as in the paper, else from all. The first k of n drawn ones are a fair draw
    of k. Raises TrainingError if there are fewer dialogues.
    """
    held_out = [example for example in examples if example.split == "valid"]
    by_dialogue: dict[str, list[Example]] = {}
    for example in held_out or examples:
        by_dialogue.setdefault(example.dialogue, []).append(example)
    if len(by_dialogue) < count:
        template = ngettext(
            "The data has only one dialogue to draw comparison examples from, and %(count)s are needed.",
            "The data has only %(dialogues)s dialogues to draw comparison examples from, and %(count)s are needed.",
            len(by_dialogue),
        )
        raise TrainingError(
            template % {"dialogues": len(by_dialogue), "count": count},
            _("Draw fewer, or from a larger corpus."),
        )
    random = Random(f"{seed}/comparisons")
    return [_draw(random, by_dialogue[name]) for name in random.sample(sorted(by_dialogue), count)]


def _draw(random: Random, examples: Sequence[Example]) -> ReplyToScore:
    example = random.choice(examples)
    return ReplyToScore(
        id=example.id,
        history=example.history,
        response=random.choice(example.positives),
        knowledge=example.knowledge,
        human=example.human,
    )


def write_comparisons(file: Path, comparisons: Sequence[ReplyToScore]) -> None:
    """Write comparisons.jsonl. Raises OSError."""
    lines = (json.dumps(as_row(one), ensure_ascii=False) + "\n" for one in comparisons)
    file.write_text("".join(lines), encoding="utf-8")


def as_row(one: ReplyToScore) -> dict[str, Any]:
    """The row of the file; keys without a value are left out."""
    row = {"id": one.id, "history": list(one.history), "response": one.response}
    optional = {"knowledge": one.knowledge or None, "human": one.human}
    return row | {key: value for key, value in optional.items() if value is not None}
