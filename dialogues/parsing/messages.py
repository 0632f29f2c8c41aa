"""`messages`: {"id"?, "messages": [{"role", "content", "time"?}], "language"?, "domain"?, …}, one a line."""

from typing import Any

from dialogues.parsing import checks
from dialogues.parsing.jsonl import Convert, jsonl_reader
from dialogues.parsing.records import (
    DOMAIN_CHARS,
    LANGUAGE_CHARS,
    SPEAKER_CHARS,
    TIME_CHARS,
    Limits,
    ParsedDialogue,
    ParsedUtterance,
)

ROW_KEYS = frozenset({"id", "language", "domain"})


def converter(turns: str, speaker: str, text: str) -> Convert:
    """For rows {turns: [{speaker, text, …}, …], …}; other keys become metadata of the utterance or dialogue."""
    known = frozenset({speaker, text, "time"})

    def utterance(item: Any, path: str, limits: Limits) -> ParsedUtterance:
        item = checks.json_object(item, path)
        who, what = (checks.require(item, key, f"{path}.{key}", "text") for key in (speaker, text))
        return ParsedUtterance(
            speaker=checks.short_text(who, f"{path}.{speaker}", SPEAKER_CHARS),
            text=checks.text(what, f"{path}.{text}", limits),
            time=checks.optional_short_text(item, "time", f"{path}.time", TIME_CHARS),
            metadata=checks.metadata(item, known, limits),
        )

    def convert(row: dict[str, Any], line: int, limits: Limits) -> ParsedDialogue:
        items = checks.items(checks.require(row, turns, turns, "list"), turns, limits.utterances)
        utterances = tuple(utterance(item, f"{turns}[{place}]", limits) for place, item in enumerate(items))
        return dialogue(row, line, utterances, ROW_KEYS | {turns}, limits)

    return convert


def dialogue(
    row: dict[str, Any],
    line: int,
    utterances: tuple[ParsedUtterance, ...],
    known: frozenset[str],
    limits: Limits,
) -> ParsedDialogue:
    """The dialogue of a JSON row whose utterances are read; what is not in `known` becomes metadata."""
    return ParsedDialogue(
        line=line,
        external_id=checks.external_id(row),
        utterances=utterances,
        language=checks.optional_short_text(row, "language", "language", LANGUAGE_CHARS),
        domain=checks.optional_short_text(row, "domain", "domain", DOMAIN_CHARS),
        metadata=checks.metadata(row, known, limits),
    )


read = jsonl_reader(converter("messages", "role", "content"))
