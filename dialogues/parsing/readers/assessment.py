"""`assessment`: {"metadata": {"score", "model", "qc-model"}, "data": [{"hit", "assignment", "worker", "result"}]}.

The shape of the released ratings of Ji et al., Achieving Reliable Human Assessment of Open-Domain Dialogue Systems. One
entry of `data` is an assignment; its results are conversations in their order. Scores, texts, persona and topics may be
missing. The metadata must come first, so that the entries can be read one by one.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Final

from dialogues.parsing.json_array import JsonWindow, convert_entry
from dialogues.parsing.parsed_dialogue import (
    EXTERNAL_ID_CHARS,
    Limits,
    ParsedAssignment,
    ParsedConversation,
    ParsedUtterance,
    ScoreKind,
)
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.parsing.value_checks import (
    check_list,
    check_object,
    check_optional_short_text,
    check_short_text,
    check_text,
    json_type,
    require_key,
    wrong_type,
)

PARTICIPANT, SYSTEM = "A", "B"
PARTICIPANT_NAMES: Final = frozenset({"a", "user", "human", "worker", "participant"})
SPEAKER_KEYS: Final = ("speaker", "role", "from")
TEXT_KEYS: Final = ("text", "content", "value")
ATTITUDES: Final = ("like", "ambivalent", "dislike")
TOPIC_CHANGES: Final = ("chatbot", "me_next", "me_last", "none")
SYSTEM_CHARS, STATEMENT_CHARS, TOPIC_CHARS = 80, 40, 500
CONVERSATIONS = 100  # of one assignment


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the file says about its scores and systems. maxima: the highest value of each score."""

    kinds: Mapping[str, ScoreKind]
    maxima: Mapping[str, float]
    systems: frozenset[str]
    degraded: str


def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedAssignment | RowError]:
    """The assignments of a file, in order."""
    window = JsonWindow(stream, limits)
    try:
        metadata = _open_data(window)
        for index in itertools.count():
            if not window.has_next():
                break
            line, entry = window.next_value()
            yield convert_entry(partial(_assignment, metadata), entry, f"data[{index}]", line, limits)
        if not window.skip("}") and not window.skip(","):
            raise BadRow("not_assessment")
    except BadRow as problem:
        yield RowError(window.line, problem.code, problem.params, fatal=True)


def _open_data(window: JsonWindow) -> Metadata:
    """Read the metadata and move to the first assignment. Raises BadRow."""
    metadata = None
    if not window.skip("{"):
        raise BadRow("not_assessment")
    while True:
        _, key = window.next_value()
        if not window.skip(":"):
            raise BadRow("not_assessment")
        if key == "data":
            break
        _, value = window.next_value()
        if key == "metadata":
            metadata = _metadata(check_object(value, "metadata"))
        if not window.skip(","):
            raise BadRow("not_assessment")
    if metadata is None:
        raise BadRow("not_assessment")
    window.open_array()
    return metadata


def _metadata(given: Mapping[str, Any]) -> Metadata:
    scores = check_object(require_key(given, "score", "metadata.score", "object"), "metadata.score")
    kinds, maxima = {}, {}
    for name, kind in scores.items():
        path = f"metadata.score.{name}"
        check_short_text(name, path, STATEMENT_CHARS)
        kind = check_object(kind, path)
        kinds[name] = ScoreKind(
            is_reversed=not _flag(kind, "positive", path), in_test=_flag(kind, "qc", path)
        )
        maxima[name] = _number(kind.get("max", 100), f"{path}.max")
        if maxima[name] <= 0:
            raise BadRow("score_outside", path=f"{path}.max", found=maxima[name], limit="∞")
    models = given.get("model") or []
    if not isinstance(models, list):
        raise wrong_type("metadata.model", "list", models)
    degraded = check_optional_short_text(given, "qc-model", "metadata.qc-model", SYSTEM_CHARS) or ""
    systems = {check_short_text(name, "metadata.model", SYSTEM_CHARS) for name in models}
    return Metadata(kinds, maxima, frozenset(systems), degraded)


def _flag(kind: Mapping[str, Any], key: str, path: str) -> bool:
    value = require_key(kind, key, f"{path}.{key}", "boolean")
    if not isinstance(value, bool):
        raise wrong_type(f"{path}.{key}", "boolean", value)
    return value


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(path, "number", value)
    try:
        return float(value)
    except OverflowError:
        raise BadRow("number_too_long") from None


def _assignment(metadata: Metadata, row: dict[str, Any], line: int, limits: Limits) -> ParsedAssignment:
    """The assignment of one entry. Raises BadRow."""
    results = require_key(row, "result", "result", "list")
    if not isinstance(results, list):
        raise wrong_type("result", "list", results)
    if len(results) > CONVERSATIONS:
        raise BadRow("too_many", path="result", limit=CONVERSATIONS)
    return ParsedAssignment(
        line=line,
        external_id=_identifier(row, "assignment"),
        participant=_identifier(row, "worker"),
        group=check_optional_short_text(row, "hit", "hit", EXTERNAL_ID_CHARS) or "",
        duration_seconds=_duration(row.get("duration in seconds")),
        feedback=_optional_text(row, "feedback", limits),
        conversations=tuple(
            _conversation(metadata, result, f"result[{index}]", limits)
            for index, result in enumerate(results)
        ),
        score_kinds=metadata.kinds,
    )


def _identifier(row: Mapping[str, Any], key: str) -> str:
    value = require_key(row, key, key, "text")
    return check_short_text(str(value) if type(value) is int else value, key, EXTERNAL_ID_CHARS)


def _duration(value: Any) -> float | None:
    if value is None:
        return None
    seconds = _number(value, "duration in seconds")
    if seconds < 0:
        raise BadRow("score_outside", path="duration in seconds", found=seconds, limit="∞")
    return seconds


def _optional_text(row: Mapping[str, Any], key: str, limits: Limits) -> str:
    value = row.get(key)
    return "" if value is None else check_text(value, key, limits, may_be_empty=True)


def _conversation(metadata: Metadata, given: Any, path: str, limits: Limits) -> ParsedConversation:
    result = check_object(given, path)
    model = require_key(result, "model", f"{path}.model", "text")
    system = check_short_text(model, f"{path}.model", SYSTEM_CHARS)
    if metadata.systems and system != metadata.degraded and system not in metadata.systems:
        wanted = ", ".join(sorted(metadata.systems | {metadata.degraded} - {""}))
        raise BadRow("unknown_value", path=f"{path}.model", found=system, wanted=wanted)
    return ParsedConversation(
        system=system,
        is_degraded=system == metadata.degraded,
        scores=_scores(metadata, result.get("score"), f"{path}.score"),
        utterances=_utterances(result.get("dialogue"), f"{path}.dialogue", limits),
        persona=_persona(result.get("persona"), f"{path}.persona", limits),
        topics=_topics(result.get("topic"), f"{path}.topic"),
        bot_opinion=_choice(result, "bot opinion", path, ATTITUDES),
        topic_change=_choice(result, "topic change", path, TOPIC_CHANGES),
    )


def _scores(metadata: Metadata, given: Any, path: str) -> dict[str, float]:
    """By statement, on a scale of 0 to 100. A score of null is missing."""
    scores = {}
    for name, value in (check_object(given, path) if given is not None else {}).items():
        if name not in metadata.kinds:
            raise BadRow("unknown_value", path=path, found=name, wanted=", ".join(metadata.kinds))
        if value is None:
            continue
        number, limit = _number(value, f"{path}.{name}"), metadata.maxima[name]
        if not 0 <= number <= limit:
            raise BadRow("score_outside", path=f"{path}.{name}", found=value, limit=limit)
        scores[name] = number if limit == 100 else number * 100 / limit
    return scores


def _utterances(given: Any, path: str, limits: Limits) -> tuple[ParsedUtterance, ...]:
    """From rounds {"user", "bot"}, from {"speaker", "text"} (or role and content), or from texts in turn."""
    if given is None or given == []:
        return ()
    utterances: list[ParsedUtterance] = []
    for index, item in enumerate(check_list(given, path, limits.utterances)):
        place = f"{path}[{index}]"
        if isinstance(item, str):
            pairs = [(PARTICIPANT if index % 2 == 0 else SYSTEM, item, place)]
        else:
            pairs = _speakers_and_texts(check_object(item, place), place)
        utterances += [
            ParsedUtterance(speaker, check_text(text, where, limits)) for speaker, text, where in pairs
        ]
    return tuple(utterances)


def _speakers_and_texts(item: Mapping[str, Any], path: str) -> list[tuple[str, Any, str]]:
    """Speaker, text and path of each utterance of one entry."""
    if "user" in item or "bot" in item:
        sides = ((PARTICIPANT, "user"), (SYSTEM, "bot"))
        return [(speaker, item[key], f"{path}.{key}") for speaker, key in sides if item.get(key) is not None]
    keys = [next((key for key in names if key in item), names[0]) for names in (SPEAKER_KEYS, TEXT_KEYS)]
    name, text = (require_key(item, key, f"{path}.{key}", "text") for key in keys)
    is_participant = str(name).lower() in PARTICIPANT_NAMES
    return [(PARTICIPANT if is_participant else SYSTEM, text, f"{path}.{keys[1]}")]


def _persona(given: Any, path: str, limits: Limits) -> tuple[str, ...]:
    if given is None or given == []:
        return ()
    sentences = check_list([given] if isinstance(given, str) else given, path, limits.utterances)
    return tuple(check_text(each, f"{path}[{index}]", limits) for index, each in enumerate(sentences))


def _topics(given: Any, path: str) -> tuple[dict[str, Any], ...]:
    """A text, or a list of {"round", "topic", "attitude"}."""
    if given is None or given == "" or given == []:
        return ()
    if isinstance(given, str):
        return ({"round": 0, "topic": check_short_text(given, path, TOPIC_CHARS), "attitude": ""},)
    if not isinstance(given, list):
        raise wrong_type(path, "list", given)
    return tuple(
        _topic(check_object(item, f"{path}[{index}]"), f"{path}[{index}]") for index, item in enumerate(given)
    )


def _topic(item: Mapping[str, Any], path: str) -> dict[str, Any]:
    number = item.get("round", 0)
    if type(number) is not int or number < 0:
        raise BadRow("wrong_type", path=f"{path}.round", wanted="integer", found=json_type(number))
    topic = check_short_text(
        require_key(item, "topic", f"{path}.topic", "text"), f"{path}.topic", TOPIC_CHARS
    )
    return {"round": number, "topic": topic, "attitude": _choice(item, "attitude", path, ATTITUDES)}


def _choice(row: Mapping[str, Any], key: str, path: str, options: tuple[str, ...]) -> str:
    """One of the options; "" if missing, null or empty."""
    value = row.get(key)
    if value is None or value == "":
        return ""
    if value not in options:
        raise BadRow("unknown_value", path=f"{path}.{key}", found=str(value)[:40], wanted=", ".join(options))
    return str(value)
