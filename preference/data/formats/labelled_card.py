"""The card of a snapshot of a labelling project: counts while it is written, and its README.md."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from annotation.labelling.models.labels import LabelOrigin
from dialogues.models import Dialogue, Split
from preference.data.formats.card_text import (
    WRITTEN_IN,
    closing_sections,
    count_table,
    escape_markdown,
    front_matter,
    markdown_table,
    split_name,
)
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.shortages import labelling_shortages

MOST = 40  # names in a table of the card, and values of a question


@dataclass(slots=True)
class _SplitCounts:
    """One column of the card."""

    dialogues: int = 0
    utterances: int = 0
    characters: int = 0

    def as_json(self, split: str) -> dict[str, Any]:
        mean = self.characters / self.utterances if self.utterances else None
        return {
            "split": split,
            "dialogues": self.dialogues,
            "utterances": self.utterances,
            "mean_length": mean,
        }


@dataclass(slots=True)
class LabelledCardCounts:
    """Counts rows of the format `labelled` while they are written. labels: only what people decided."""

    columns: defaultdict[str, _SplitCounts] = field(default_factory=lambda: defaultdict(_SplitCounts))
    labels: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    named: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    gaps: Counter[str] = field(default_factory=Counter)
    longest: int = 0

    def add(self, dialogue: Dialogue, row: Mapping[str, Any]) -> None:
        utterances = row["dialogue"]
        for column in (self.columns[row["split"]], self.columns["total"]):
            column.dialogues += 1
            column.utterances += len(utterances)
            column.characters += sum(len(one["content"]) for one in utterances)
        self.longest = max(self.longest, len(utterances))
        is_machine = row["origin"] == LabelOrigin.MACHINE
        self.gaps["machine_labels"] += is_machine
        for question, value in row["labels"].items() if not is_machine else ():
            self.labels[question].update(_label_names(value))
        judgements = row["judgements"]
        self.gaps["imported_labels"] += bool(judgements) and all(one["imported"] for one in judgements)
        self.gaps["one_judgement"] += len(judgements) == 1
        metadata = dialogue.metadata
        licence = next(
            (metadata[key] for key in ("license", "licence") if isinstance(metadata.get(key), str)), ""
        )
        names = {
            "origins": row["origin"],
            "languages": row["language"],
            "domains": row["domain"],
            "licences": licence,
        }
        for name, value in names.items():
            self.named[name][value] += 1

    def as_json(self, splits: Sequence[str]) -> dict[str, Any]:
        """The card of a snapshot of these splits."""
        lacking = labelling_shortages(
            {split: column.dialogues for split, column in self.columns.items()}, splits
        )
        return {
            "splits": [self.columns[split].as_json(split) for split in (*Split.values, "total")],
            "labels": {question: dict(counts.most_common(MOST)) for question, counts in self.labels.items()},
            **{
                name: dict(self.named[name].most_common(MOST))
                for name in ("origins", "languages", "domains", "licences")
            },
            "gaps": {name: n for name, n in sorted(self.gaps.items()) if n},
            "longest": self.longest,
            "shortages": [asdict(shortage) for shortage in lacking],
        }


def _label_names(value: Any) -> list[str]:
    """The options that an answer names: several for a question with several answers."""
    return [str(one)[:80] for one in (value if isinstance(value, list) else [value])]


def readme(snapshot: Snapshot, facts: Mapping[str, Any]) -> str:
    """The card in Markdown, with the front matter that a Hub reads. facts: content of snapshot.json."""
    card = facts["card"]
    parts = [
        front_matter(snapshot, card, "text-classification", ("dialogue", "quality", "human-labels")),
        f"# {escape_markdown(snapshot.name)}",
        f"Dialogues of the project “{escape_markdown(snapshot.project.title)}” with their final labels, and every"
        " judgement of people behind these, under pseudonyms.",
        "## Statistics",
        _statistics(card["splits"]),
        "## Labels",
        *_labels(card["labels"]),
        count_table("How the label came about", "Dialogues", card["origins"]),
        *closing_sections(facts, _gaps(card), _provenance(facts)),
    ]
    return "\n\n".join(parts) + "\n"


def _statistics(columns: Sequence[Mapping[str, Any]]) -> str:
    lengths = [column["mean_length"] for column in columns]
    rows = [
        ["Dialogues", *(f"{column['dialogues']:,}" for column in columns)],
        ["Utterances", *(f"{column['utterances']:,}" for column in columns)],
        [
            "Average utterance length (characters)",
            *("–" if length is None else f"{length:.2f}" for length in lengths),
        ],
    ]
    return markdown_table(["", *(split_name(column["split"]) for column in columns)], rows)


def _labels(labels: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A table for each question."""
    return [count_table(question, "Dialogues", counts) for question, counts in labels.items()]


def _gaps(card: Mapping[str, Any]) -> list[str]:
    gaps = card["gaps"]
    present = [text.format(n=f"{gaps[name]:,}") for name, text in _GAP_TEXTS.items() if gaps.get(name)]
    lacking = [_SHORTAGE_TEXTS[shortage["code"]].format(**shortage) for shortage in card["shortages"]]
    unstated = [] if any(card["licences"]) else ["No licence is stated."]
    return [*present, *lacking, *unstated, WRITTEN_IN]


_GAP_TEXTS = {
    "machine_labels": "{n} dialogues have the label of a machine that passed batch review; no person labelled them, and"
    " the counts above leave them out.",
    "imported_labels": "The labels of {n} dialogues were imported: who judged them is what their file says.",
    "one_judgement": "{n} dialogues were judged by one person only.",
}
_SHORTAGE_TEXTS = {
    "empty_split": "The split {about} is empty.",
    "few_labels": "Only {n} dialogues of the split train have a label.",
}


def _provenance(facts: Mapping[str, Any]) -> list[str]:
    return [
        f"Dialogues with a final label, of accepted batches where the project has batches; splits:"
        f" {', '.join(facts['filters']['splits'])}. Dialogues labelled as private or abandoned never leave.",
        "A dialogue's split was assigned once, by a hash of its id.",
        f"Taken on {facts['created_at']} by Lapidary {facts['code_version']};"
        f" schema {facts['schema_version']}, seed {facts['seed']}.",
        "`dialogues.jsonl`: a row a dialogue with its utterances, `labels` by question, and `judgements` of each"
        " person. `snapshot.json`: these numbers.",
    ]
