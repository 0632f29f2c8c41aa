"""`eou`: one dialogue a line, utterances separated by `__eou__`; two speakers, A and B, in turn."""

from collections.abc import Iterator
from typing import BinaryIO

from dialogues.parsing import checks
from dialogues.parsing.lines import Line, read_lines
from dialogues.parsing.records import BadRow, Limits, ParsedDialogue, ParsedUtterance, RowError

SEPARATOR = "__eou__"
SPEAKERS = "AB"


def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
    """The dialogues of the file, in order, each line by itself."""
    for line in read_lines(stream, limits):
        if isinstance(line, RowError):
            yield line
        elif line.text.strip():
            yield _dialogue(line, limits)


def _dialogue(line: Line, limits: Limits) -> ParsedDialogue | RowError:
    # DailyDialog ends every line with the separator; others put it between utterances only.
    texts = line.text.strip().removesuffix(SEPARATOR).split(SEPARATOR)
    try:
        if len(texts) > limits.utterances:
            raise BadRow("too_many", path="dialogue", limit=limits.utterances)
        turns = tuple(turn(text, place, limits) for place, text in enumerate(texts))
    except BadRow as problem:
        return problem.at(line.number)
    return ParsedDialogue(line.number, None, turns)


def turn(text: str, place: int, limits: Limits) -> ParsedUtterance:
    """The utterance at that place, by A or B in turn, without the blanks around it; raises BadRow."""
    return ParsedUtterance(SPEAKERS[place % 2], checks.text(text.strip(), f"utterance[{place}]", limits))
