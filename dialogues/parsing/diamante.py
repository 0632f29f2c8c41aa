"""`diamante`: {"conversation": [{"utterance", "response_candidates": […]}]}, one a line.

The candidates listed with an utterance are those that it was chosen among. Our own export adds `id`, also as
`dialogue_id`, to the row and `speaker`, `action`, `source`, `edit_distance` and `model_version` to the utterance; all
of them may be absent.
"""

from typing import Any

from dialogues.parsing import checks
from dialogues.parsing.jsonl import jsonl_reader
from dialogues.parsing.messages import ROW_KEYS, dialogue
from dialogues.parsing.records import (
    MODEL_VERSION_CHARS,
    SPEAKER_CHARS,
    TIME_CHARS,
    BadRow,
    Limits,
    ParsedDialogue,
    ParsedUtterance,
)

SPEAKERS = "AB"
ACTIONS = frozenset({"select", "revise", "rewrite"})
PROVENANCE_KEYS = frozenset({"action", "source", "edit_distance", "model_version"})
UTTERANCE_KEYS = frozenset({"utterance", "response_candidates", "speaker", "time"}) | PROVENANCE_KEYS


def convert(row: dict[str, Any], line: int, limits: Limits) -> ParsedDialogue:
    """The dialogue of one row; raises BadRow."""
    items = checks.require(row, "conversation", "conversation", "list")
    items = checks.items(items, "conversation", limits.utterances)
    utterances = tuple(_utterance(item, place, limits) for place, item in enumerate(items))
    row = {"id": row.get("dialogue_id"), **row}
    return dialogue(row, line, utterances, ROW_KEYS | {"dialogue_id", "conversation"}, limits)


def _utterance(item: Any, place: int, limits: Limits) -> ParsedUtterance:
    path = f"conversation[{place}]"
    item = checks.json_object(item, path)
    what = checks.require(item, "utterance", f"{path}.utterance", "text")
    speaker = checks.optional_short_text(item, "speaker", f"{path}.speaker", SPEAKER_CHARS)
    version = checks.optional_short_text(item, "model_version", f"{path}.model_version", MODEL_VERSION_CHARS)
    candidates = _candidates(item, path, limits)
    action, source, distance = _provenance(item, path, len(candidates))
    return ParsedUtterance(
        speaker=speaker or SPEAKERS[place % 2],
        text=checks.text(what, f"{path}.utterance", limits),
        time=checks.optional_short_text(item, "time", f"{path}.time", TIME_CHARS),
        metadata=checks.metadata(item, UTTERANCE_KEYS, limits),
        candidates=candidates,
        action=action,
        source=source,
        edit_distance=distance,
        model_version=version or "",
    )


def _candidates(item: dict[str, Any], path: str, limits: Limits) -> tuple[str, ...]:
    """As displayed: the order and empty candidates are kept, since they are what the annotator saw."""
    path = f"{path}.response_candidates"
    replies = item.get("response_candidates")
    if replies is None or replies == []:
        return ()
    return tuple(
        checks.text(reply, f"{path}[{place}]", limits, may_be_empty=True)
        for place, reply in enumerate(checks.items(replies, path, limits.candidates))
    )


def _provenance(
    item: dict[str, Any], path: str, candidates: int
) -> tuple[str | None, int | None, int | None]:
    """Action, source and edit distance; an action that starts from a candidate must name it."""
    action = item.get("action")
    if action is not None and not isinstance(action, str):
        raise checks.wrong_type(f"{path}.action", "text", action)
    if action and action not in ACTIONS:
        raise BadRow("unknown_action", path=f"{path}.action", found=checks.shown(action))
    source = checks.whole_number(item, "source", f"{path}.source")
    if source is not None and source >= candidates:
        raise BadRow("source_outside", path=f"{path}.source", found=source, limit=candidates)
    if source is None and action in {"select", "revise"}:
        raise BadRow("source_missing", path=f"{path}.source", action=action)
    distance = checks.whole_number(item, "edit_distance", f"{path}.edit_distance")
    if action == "select":
        if distance:
            raise BadRow("select_edited", path=f"{path}.edit_distance", found=distance)
        distance = 0
    return action or None, source, distance


read = jsonl_reader(convert)
