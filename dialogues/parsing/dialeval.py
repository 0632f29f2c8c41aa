"""`dialeval`: [{"id", "turns": [{"sender", "utterances": […]}], "annotations": [{"nugget": […], "quality": {…}}]}].

The public form of the NTCIR DialEval data. A turn is one utterance: its strings are joined by a line break, and kept as
`parts` where that could not be undone. Annotations travel in the dialogue's metadata to whoever makes labels of them.
"""

from typing import Any

from dialogues.parsing import checks
from dialogues.parsing.json_array import array_reader
from dialogues.parsing.messages import ROW_KEYS, dialogue
from dialogues.parsing.records import BadRow, Limits, ParsedDialogue, ParsedUtterance

SENDERS = ("customer", "helpdesk")
TURN_KEYS = frozenset({"sender", "utterances"})
ANNOTATIONS = 200  # of one dialogue; the public data have 19 to 21


def convert(row: dict[str, Any], line: int, limits: Limits) -> ParsedDialogue:
    """The dialogue of one entry; raises BadRow."""
    turns = checks.items(checks.require(row, "turns", "turns", "list"), "turns", limits.utterances)
    utterances = tuple(_turn(turn, f"turns[{place}]", limits) for place, turn in enumerate(turns))
    if row.get("annotations") is not None:
        check_annotations(row["annotations"], len(utterances))
    return dialogue(row, line, utterances, ROW_KEYS | {"turns"}, limits)


def _turn(turn: Any, path: str, limits: Limits) -> ParsedUtterance:
    turn = checks.json_object(turn, path)
    sender = checks.require(turn, "sender", f"{path}.sender", "text")
    if sender not in SENDERS:
        raise BadRow(
            "unknown_value", path=f"{path}.sender", found=str(sender)[:40], wanted=", ".join(SENDERS)
        )
    parts = checks.require(turn, "utterances", f"{path}.utterances", "list")
    parts = [
        checks.text(part, f"{path}.utterances[{place}]", limits, may_be_empty=True)
        for place, part in enumerate(checks.items(parts, f"{path}.utterances", limits.utterances))
    ]
    text = checks.text("\n".join(parts), f"{path}.utterances", limits, may_be_empty=True)
    extra = checks.metadata(turn, TURN_KEYS, limits)
    return ParsedUtterance(
        sender, text, metadata=extra if text.split("\n") == parts else {**extra, "parts": parts}
    )


def check_annotations(given: Any, turns: int) -> None:
    """Whether they have the shape of annotations of so many turns, whatever they say; raises BadRow."""
    if not isinstance(given, list):
        raise checks.wrong_type("annotations", "list", given)
    if len(given) > ANNOTATIONS:
        raise BadRow("too_many", path="annotations", limit=ANNOTATIONS)
    for place, one in enumerate(given):
        path = f"annotations[{place}]"
        one = checks.json_object(one, path)
        nuggets = one.get("nugget")
        if nuggets is not None and (not isinstance(nuggets, list) or len(nuggets) != turns):
            raise BadRow("wrong_length", path=f"{path}.nugget", wanted=turns)
        if (quality := one.get("quality")) is not None:
            checks.json_object(quality, f"{path}.quality")


read = array_reader(convert)
