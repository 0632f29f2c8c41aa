"""`dialeval`: [{"id", "turns": [{"sender", "utterances": […]}], "annotations": [{"nugget": […], "quality": {…}}]}].

The public form of the NTCIR DialEval data. A turn is one utterance: its strings are joined by line breaks, and kept as
`parts` if splitting would not give them back. The annotations stay in the metadata of the dialogue; the labelling app
turns them into labels.
"""

from typing import Any

from dialogues.parsing.json_array import json_array_reader
from dialogues.parsing.json_dialogues import ROW_KEYS, build_dialogue
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, ParsedUtterance
from dialogues.parsing.row_errors import BadRow
from dialogues.parsing.value_checks import (
    check_list,
    check_object,
    check_text,
    collect_metadata,
    require_key,
    wrong_type,
)

SENDERS = ("customer", "helpdesk")
TURN_KEYS = frozenset({"sender", "utterances"})
ANNOTATIONS = 200  # of one dialogue; the public data have 19 to 21


def convert(row: dict[str, Any], line: int, limits: Limits) -> ParsedDialogue:
    """The dialogue of one entry. Raises BadRow."""
    turns = check_list(require_key(row, "turns", "turns", "list"), "turns", limits.utterances)
    utterances = tuple(_turn(turn, f"turns[{position}]", limits) for position, turn in enumerate(turns))
    if row.get("annotations") is not None:
        check_annotations(row["annotations"], len(utterances))
    return build_dialogue(row, line, utterances, ROW_KEYS | {"turns"}, limits)


def _turn(turn: Any, path: str, limits: Limits) -> ParsedUtterance:
    turn = check_object(turn, path)
    sender = require_key(turn, "sender", f"{path}.sender", "text")
    if sender not in SENDERS:
        raise BadRow(
            "unknown_value", path=f"{path}.sender", found=str(sender)[:40], wanted=", ".join(SENDERS)
        )
    parts = require_key(turn, "utterances", f"{path}.utterances", "list")
    parts = [
        check_text(part, f"{path}.utterances[{index}]", limits, may_be_empty=True)
        for index, part in enumerate(check_list(parts, f"{path}.utterances", limits.utterances))
    ]
    text = check_text("\n".join(parts), f"{path}.utterances", limits, may_be_empty=True)
    extra = collect_metadata(turn, TURN_KEYS, limits)
    return ParsedUtterance(
        sender, text, metadata=extra if text.split("\n") == parts else {**extra, "parts": parts}
    )


def check_annotations(given: Any, turns: int) -> None:
    """Check the shape of the annotations of a dialogue with so many turns, not their values. Raises BadRow."""
    if not isinstance(given, list):
        raise wrong_type("annotations", "list", given)
    if len(given) > ANNOTATIONS:
        raise BadRow("too_many", path="annotations", limit=ANNOTATIONS)
    for index, entry in enumerate(given):
        path = f"annotations[{index}]"
        annotation = check_object(entry, path)
        nuggets = annotation.get("nugget")
        if nuggets is not None and (not isinstance(nuggets, list) or len(nuggets) != turns):
            raise BadRow("wrong_length", path=f"{path}.nugget", wanted=turns)
        if (quality := annotation.get("quality")) is not None:
            check_object(quality, f"{path}.quality")


read = json_array_reader(convert)
