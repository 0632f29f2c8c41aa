"""What the JSON formats share: a row with a list of utterances becomes a dialogue."""

from typing import Any

from dialogues.parsing.json_lines import Convert
from dialogues.parsing.parsed_dialogue import (
    DOMAIN_CHARS,
    LANGUAGE_CHARS,
    SPEAKER_CHARS,
    TIME_CHARS,
    Limits,
    ParsedDialogue,
    ParsedUtterance,
)
from dialogues.parsing.value_checks import (
    check_external_id,
    check_list,
    check_object,
    check_optional_short_text,
    check_short_text,
    check_text,
    collect_metadata,
    require_key,
)

ROW_KEYS = frozenset({"id", "language", "domain"})


def utterance_list_converter(list_key: str, speaker_key: str, text_key: str) -> Convert:
    """For rows {list_key: [{speaker_key, text_key, …}, …], …}; other keys become metadata of utterance or dialogue."""
    known = frozenset({speaker_key, text_key, "time"})

    def parse_utterance(item: Any, path: str, limits: Limits) -> ParsedUtterance:
        item = check_object(item, path)
        speaker, text = (require_key(item, key, f"{path}.{key}", "text") for key in (speaker_key, text_key))
        return ParsedUtterance(
            speaker=check_short_text(speaker, f"{path}.{speaker_key}", SPEAKER_CHARS),
            text=check_text(text, f"{path}.{text_key}", limits),
            time=check_optional_short_text(item, "time", f"{path}.time", TIME_CHARS),
            metadata=collect_metadata(item, known, limits),
        )

    def convert(row: dict[str, Any], line: int, limits: Limits) -> ParsedDialogue:
        items = check_list(require_key(row, list_key, list_key, "list"), list_key, limits.utterances)
        utterances = tuple(
            parse_utterance(item, f"{list_key}[{index}]", limits) for index, item in enumerate(items)
        )
        return build_dialogue(row, line, utterances, ROW_KEYS | {list_key}, limits)

    return convert


def build_dialogue(
    row: dict[str, Any],
    line: int,
    utterances: tuple[ParsedUtterance, ...],
    known: frozenset[str],
    limits: Limits,
) -> ParsedDialogue:
    """The dialogue of a JSON row with these utterances. Keys that are not in `known` become metadata."""
    return ParsedDialogue(
        line=line,
        external_id=check_external_id(row),
        utterances=utterances,
        language=check_optional_short_text(row, "language", "language", LANGUAGE_CHARS),
        domain=check_optional_short_text(row, "domain", "domain", DOMAIN_CHARS),
        metadata=collect_metadata(row, known, limits),
    )
