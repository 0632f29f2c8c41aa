"""The card of a snapshot: statistics counted while it is written, and its README.md for a Hub of data sets."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dialogues.models import Action, Dialogue, Split
from preference.data.formats.card_text import (
    WRITTEN_IN,
    closing_sections,
    count_table,
    escape_markdown,
    front_matter,
    markdown_table,
    split_name,
)
from preference.data.formats.replies import DrawContext, replies_of
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.shortages import shortages

MOST = 40  # names in a table of the card: licences, models, domains …
ROWS = ("Dialogues", "Utterances", "Average utterance length (characters)")


@dataclass(slots=True)
class _SplitCounts:
    """One column of Table 1 (Diamante). replies: utterances with a usable candidate, which can be trained on."""

    dialogues: int = 0
    utterances: int = 0
    characters: int = 0
    had_candidates: int = 0
    replies: int = 0
    actions: Counter[str] = field(default_factory=Counter)

    def as_json(self, split: str) -> dict[str, Any]:
        mean = self.characters / self.utterances if self.utterances else None
        return {
            "split": split,
            "dialogues": self.dialogues,
            "utterances": self.utterances,
            "mean_length": mean,
            **{action: self.actions[action] for action in Action.values},
            "had_candidates": self.had_candidates,
            "replies": self.replies,
        }

    def add(self, other: "_SplitCounts") -> None:
        for name in ("dialogues", "utterances", "characters", "had_candidates", "replies"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.actions += other.actions


@dataclass(slots=True)
class CardCounts:
    """Counts rows of the format `diamante` while they are written."""

    columns: defaultdict[str, _SplitCounts] = field(default_factory=lambda: defaultdict(_SplitCounts))
    candidates: Counter[int] = field(default_factory=Counter)
    named: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    gaps: Counter[str] = field(default_factory=Counter)
    longest: int = 0

    def add(self, dialogue: Dialogue, row: Mapping[str, Any]) -> None:
        column, conversation = self.columns[row["split"]], row["conversation"]
        column.dialogues += 1
        column.utterances += len(conversation)
        column.characters += sum(len(turn["utterance"]) for turn in conversation)
        column.replies += sum(1 for _reply in replies_of(row, DrawContext()))
        self.longest = max(self.longest, len(conversation))
        for turn in conversation:
            if turn["response_candidates"]:
                self._add_choice(column, turn)
        self._add_names(dialogue, row)

    def _add_choice(self, column: _SplitCounts, turn: Mapping[str, Any]) -> None:
        """Count a turn that has candidates."""
        texts = [text.strip() for text in turn["response_candidates"]]
        self.candidates[len(texts)] += 1
        self.named["model_versions"].update(
            set(turn.get("candidate_versions") or [turn.get("model_version") or ""])
        )
        self.gaps["empty_candidates"] += "" in texts
        self.gaps["repeated_candidates"] += len(set(texts)) < len(texts)
        if turn.get("action"):
            column.had_candidates += 1
            column.actions[turn["action"]] += 1
            self.gaps["derived_actions"] += bool(turn.get("action_derived"))
        else:
            self.gaps["no_action"] += 1

    def _add_names(self, dialogue: Dialogue, row: Mapping[str, Any]) -> None:
        licence = next((row[key] for key in ("license", "licence") if isinstance(row.get(key), str)), "")
        self.gaps["imported"] += dialogue.origin == "imported"
        self.gaps["scripted"] += bool(row.get("scripted"))
        self.gaps["unreviewed"] += dialogue.review_state == "unreviewed"
        self.gaps["without_candidates"] += not any(
            turn["response_candidates"] for turn in row["conversation"]
        )
        for name, value in (
            ("languages", row["language"]),
            ("domains", row["domain"]),
            ("licences", licence),
        ):
            self.named[name][value] += 1

    def as_json(self, splits: Sequence[str]) -> dict[str, Any]:
        """The card of a snapshot of these splits."""
        total = _SplitCounts()
        for column in self.columns.values():
            total.add(column)
        turns = sum(self.candidates.values())
        lacking = shortages(
            {split: column.dialogues for split, column in self.columns.items()},
            splits,
            total.replies,
            total.actions,
        )
        return {
            "splits": [
                *(self.columns[split].as_json(split) for split in Split.values),
                total.as_json("total"),
            ],
            "candidates": {
                "turns": turns,
                "mean": sum(n * of for n, of in self.candidates.items()) / turns if turns else None,
                "by_number": {str(n): self.candidates[n] for n in sorted(self.candidates)},
            },
            **{
                name: dict(self.named[name].most_common(MOST))
                for name in ("model_versions", "languages", "domains", "licences")
            },
            "gaps": {name: n for name, n in sorted(self.gaps.items()) if n},
            "longest": self.longest,
            "shortages": [asdict(turn) for turn in lacking],
        }


def readme(snapshot: Snapshot, facts: Mapping[str, Any]) -> str:
    """The card in Markdown, with the front matter that a Hub reads. facts: content of snapshot.json."""
    card = facts["card"]
    parts = [
        front_matter(snapshot, card, "text-generation", ("dialogue", "preference", "human-feedback")),
        f"# {escape_markdown(snapshot.name)}",
        f"Dialogues of the project “{escape_markdown(snapshot.project.title)}”. In each turn people were shown"
        " candidate replies of a model and selected one, revised one, or wrote their own.",
        "## Statistics",
        markdown_table(
            ["", *(split_name(column["split"]) for column in card["splits"])], _statistics(card["splits"])
        ),
        "Actions are shares of the utterances that had candidates.",
        "## Candidates and models",
        _candidates(card["candidates"]),
        count_table("Model version", "Turns", card["model_versions"]),
        *closing_sections(facts, _gaps(card), _provenance(facts)),
    ]
    return "\n\n".join(parts) + "\n"


def _statistics(columns: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    lengths = [column["mean_length"] for column in columns]
    counts = [[f"{column[name]:,}" for column in columns] for name in ("dialogues", "utterances")]
    shares = [
        [_share(column[action], column["had_candidates"]) for column in columns] for action in Action.values
    ]
    numbers = [*counts, ["–" if length is None else f"{length:.2f}" for length in lengths]]
    return [
        *([name, *row] for name, row in zip(ROWS, numbers, strict=True)),
        *([f"{action.capitalize()} (%)", *row] for action, row in zip(Action.values, shares, strict=True)),
        [
            "Utterances that had candidates and an action",
            *(f"{column['had_candidates']:,}" for column in columns),
        ],
        ["Turns to learn from (a candidate differs)", *(f"{column['replies']:,}" for column in columns)],
    ]


def _share(n: int, of: int) -> str:
    return f"{100 * n / of:.1f}" if of else "–"


def _candidates(counts: Mapping[str, Any]) -> str:
    if not counts["turns"]:
        return "No turn has candidates."
    each = ", ".join(f"{n} candidates in {turns:,}" for n, turns in counts["by_number"].items())
    return f"{counts['turns']:,} turns with {counts['mean']:.2f} candidates on average: {each}."


def _gaps(card: Mapping[str, Any]) -> list[str]:
    gaps, texts = card["gaps"], _GAP_TEXTS
    present = [texts[name].format(n=f"{gaps[name]:,}") for name in texts if gaps.get(name)]
    lacking = [_SHORTAGE_TEXTS[shortage["code"]].format(**shortage) for shortage in card["shortages"]]
    unstated = [] if any(card["licences"]) else ["No licence is stated."]
    return [*present, *lacking, *unstated, WRITTEN_IN]


_GAP_TEXTS = {
    "unreviewed": "{n} dialogues were not reviewed by an expert.",
    "imported": "{n} dialogues were imported: who wrote them, and among which candidates, is what their file says.",
    "scripted": "{n} dialogues are marked as scripted: a program wrote and chose in them, no person.",
    "without_candidates": "{n} dialogues have no candidates at all.",
    "derived_actions": "In {n} turns the action was derived from the texts on import: the file did not name it.",
    "no_action": "In {n} turns with candidates the action is unknown.",
    "empty_candidates": "In {n} turns a candidate is empty.",
    "repeated_candidates": "In {n} turns a candidate occurs twice.",
}
_SHORTAGE_TEXTS = {
    "no_candidates": "No utterance was chosen among candidates, so there is nothing to rank.",
    "one_action": "All turns came about by one action: {about}.",
    "empty_split": "The split {about} is empty.",
    "few_turns": "Only {n} turns have candidates.",
}


def _provenance(facts: Mapping[str, Any]) -> list[str]:
    filters = facts["filters"]
    reviewed = (
        "that the experts passed, and those that no expert has reviewed"
        if filters["include_unreviewed"]
        else "that the experts passed"
    )
    return [
        f"Finished dialogues {reviewed}; splits: {', '.join(filters['splits'])}. Vetoed dialogues never leave.",
        "A dialogue's split was assigned once, by a hash of its id.",
        f"Taken on {facts['created_at']} by Lapidary {facts['code_version']};"
        f" schema {facts['schema_version']}, seed {facts['seed']}.",
        "`dialogues.jsonl`: a row a dialogue, an utterance with its candidates in displayed order; the action"
        " says how it came about, `source` which candidate it began from. `snapshot.json`: these numbers.",
    ]
