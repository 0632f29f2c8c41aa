"""What the training of a topic model takes: dialogues of a snapshot whose topic a person or an imported file said."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from common.refusals import Refusal
from dialogues.models import TopicSource
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import frozen_dialogues
from preference.runs.assessor_options import ROWS
from preference.topics.selectors import categories_of

CATEGORIES = "categories.json"
TRUSTED = (TopicSource.PERSON, TopicSource.IMPORTED)


def write_topic_rows(snapshot: Snapshot, folder: Path) -> tuple[Path, Path]:
    """The files that the trainer reads: dialogues with their topic, and the topics that occur.

    Written once: a resumed training must read the same files. A model does not learn from topics of machines. Raises
    Refusal too_few_topics, not_ready or file_gone.
    """
    rows, categories = folder / ROWS, folder / CATEGORIES
    if rows.is_file():
        return rows, categories
    known = {category.id: category for category in categories_of(snapshot.project)}
    partial = folder / f".{ROWS}.part"
    counts: Counter[str] = Counter()
    with partial.open("w", encoding="utf-8") as out:
        for row in _trusted_rows(snapshot):
            if row["topic"] in known:
                counts[row["topic"]] += 1
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    if len(counts) < 2:
        raise Refusal(
            "too_few_topics",
            _(
                "People or files chose fewer than two topics in this snapshot, so there is nothing to tell apart."
            ),
            _("Choose topics of more dialogues, or import them, and take another snapshot."),
        )
    chosen = [asdict(category) for name, category in known.items() if counts[name]]
    categories.write_text(json.dumps(chosen, ensure_ascii=False), encoding="utf-8")
    partial.replace(rows)
    return rows, categories


def _trusted_rows(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    for row in frozen_dialogues(snapshot).rows():
        if row.get("topic_source") in TRUSTED:
            kept = {name: row[name] for name in ("id", "domain", "split", "topic")}
            yield {**kept, "dialogue": _turns(row)}


def _turns(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """The utterances of a row of the format `labelled` or `diamante`."""
    if "dialogue" in row:
        return list(row["dialogue"])
    return [{"role": turn["speaker"], "content": turn["utterance"]} for turn in row["conversation"]]
