"""`diamante`: {"conversation": [{"utterance", "response_candidates": […]}]}, one a line.

The candidates of an utterance are the replies that its author chose from. Our own export adds `id`, also as
`dialogue_id`, to the row, and `speaker`, `action`, `source`, `edit_distance` and `model_version` to the utterance, and
`action_derived` where the action was not recorded. All of them are optional.
"""

from typing import Any

from dialogues.parsing.json_dialogues import ROW_KEYS, build_dialogue
from dialogues.parsing.json_lines import json_lines_reader
from dialogues.parsing.parsed_dialogue import (
    MODEL_VERSION_CHARS,
    SPEAKER_CHARS,
    TIME_CHARS,
    Limits,
    ParsedDialogue,
    ParsedUtterance,
)
from dialogues.parsing.row_errors import BadRow
from dialogues.parsing.value_checks import (
    check_list,
    check_object,
    check_optional_short_text,
    check_text,
    check_whole_number,
    collect_metadata,
    printable,
    require_key,
    wrong_type,
)

SPEAKERS = "AB"
ACTIONS = frozenset({"select", "revise", "rewrite"})
PROVENANCE_KEYS = frozenset({"action", "source", "edit_distance", "model_version", "action_derived"})
UTTERANCE_KEYS = frozenset({"utterance", "response_candidates", "speaker", "time"}) | PROVENANCE_KEYS


def convert(row: dict[str, Any], line: int, limits: Limits) -> ParsedDialogue:
    """The dialogue of one row. Raises BadRow."""
    items = require_key(row, "conversation", "conversation", "list")
    items = check_list(items, "conversation", limits.utterances)
    utterances = tuple(_utterance(item, position, limits) for position, item in enumerate(items))
    row = {"id": row.get("dialogue_id"), **row}
    return build_dialogue(row, line, utterances, ROW_KEYS | {"dialogue_id", "conversation"}, limits)


def _utterance(item: Any, position: int, limits: Limits) -> ParsedUtterance:
    path = f"conversation[{position}]"
    item = check_object(item, path)
    what = require_key(item, "utterance", f"{path}.utterance", "text")
    speaker = check_optional_short_text(item, "speaker", f"{path}.speaker", SPEAKER_CHARS)
    version = check_optional_short_text(item, "model_version", f"{path}.model_version", MODEL_VERSION_CHARS)
    candidates = _candidates(item, path, limits)
    action, source, distance = _provenance(item, path, len(candidates))
    return ParsedUtterance(
        speaker=speaker or SPEAKERS[position % 2],
        text=check_text(what, f"{path}.utterance", limits),
        time=check_optional_short_text(item, "time", f"{path}.time", TIME_CHARS),
        metadata=collect_metadata(item, UTTERANCE_KEYS, limits),
        candidates=candidates,
        action=action,
        source=source,
        edit_distance=distance,
        model_version=version or "",
        action_derived=item.get("action_derived") is True,
    )


def _candidates(item: dict[str, Any], path: str, limits: Limits) -> tuple[str, ...]:
    """The candidates as displayed: the order and empty ones are kept, because the annotator saw them so."""
    path = f"{path}.response_candidates"
    replies = item.get("response_candidates")
    if replies is None or replies == []:
        return ()
    return tuple(
        check_text(reply, f"{path}[{index}]", limits, may_be_empty=True)
        for index, reply in enumerate(check_list(replies, path, limits.candidates))
    )


def _provenance(
    item: dict[str, Any], path: str, candidates: int
) -> tuple[str | None, int | None, int | None]:
    """Action, source and edit distance. Select and revise need a source."""
    action = item.get("action")
    if action is not None and not isinstance(action, str):
        raise wrong_type(f"{path}.action", "text", action)
    if action and action not in ACTIONS:
        raise BadRow("unknown_action", path=f"{path}.action", found=printable(action))
    source = check_whole_number(item, "source", f"{path}.source")
    if source is not None and source >= candidates:
        raise BadRow("source_outside", path=f"{path}.source", found=source, limit=candidates)
    if source is None and action in {"select", "revise"}:
        raise BadRow("source_missing", path=f"{path}.source", action=action)
    distance = check_whole_number(item, "edit_distance", f"{path}.edit_distance")
    if action == "select":
        if distance:
            raise BadRow("select_edited", path=f"{path}.edit_distance", found=distance)
        distance = 0
    return action or None, source, distance


read = json_lines_reader(convert)
