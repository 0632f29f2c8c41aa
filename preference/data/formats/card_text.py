"""Parts of the Markdown card of every snapshot: front matter, tables, licences."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from preference.data.models.snapshots import Snapshot

WRITTEN_IN = "UTF-8 text as people wrote it: it may hold anything that they typed, names and addresses too."


def front_matter(snapshot: Snapshot, card: Mapping[str, Any], task_category: str, tags: Sequence[str]) -> str:
    """What a Hub reads. The values are JSON, which is YAML too: quoting needs no library."""
    languages = sorted(name for name in card["languages"] if len(name) == 2 and name.isalpha())
    licences = [name for name in card["licences"] if name]
    fields = {
        "pretty_name": snapshot.name,
        **({"language": languages} if languages else {}),
        **({"license": "other", "license_name": ", ".join(licences)[:90]} if licences else {}),
        "task_categories": [task_category],
        "tags": tags,
    }
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---"])


def closing_sections(facts: Mapping[str, Any], gaps: Sequence[str], provenance: Sequence[str]) -> list[str]:
    """What every card ends with. facts: content of snapshot.json. gaps, provenance: lines."""
    card, file = facts["card"], facts["files"]["dialogues.jsonl"]
    return [
        "## Languages and domains",
        count_table("Language", "Dialogues", card["languages"]),
        count_table("Domain", "Dialogues", card["domains"]),
        "## Licences",
        describe_licences(card["licences"]),
        "## Known gaps",
        _bullets(gaps),
        "## How it was made",
        _bullets(provenance),
        "## Check",
        f"`sha256sum dialogues.jsonl` must give `{file['sha256']}` ({file['bytes']} bytes).",
    ]


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def split_name(name: str) -> str:
    return {"train": "Train", "valid": "Validation", "test": "Test"}.get(name, "Total")


def count_table(name: str, unit: str, counts: Mapping[str, int]) -> str:
    return markdown_table([name, unit], [[key or "not stated", f"{n:,}"] for key, n in counts.items()])


def describe_licences(licences: Mapping[str, int]) -> str:
    if any(licences):
        return count_table("Licence, as imported files name it", "Dialogues", licences)
    return "Not stated. Ask whoever owns the project before you pass the data on."


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _name in head[1:])], *rows]
    return "\n".join("| " + " | ".join(escape_markdown(cell) for cell in line) + " |" for line in lines)


def escape_markdown(text: str) -> str:
    """One line, with the characters that Markdown or HTML interprets escaped."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return line.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")
