"""`eou`: one dialogue a line, utterances separated by `__eou__`; two speakers, A and B, in turn."""

from collections.abc import Iterator
from typing import BinaryIO

from dialogues.parsing.lines import Line, read_lines
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, ParsedUtterance, Reader
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.parsing.value_checks import check_text

SEPARATOR = "__eou__"
SPEAKERS = "AB"


def line_reader(separator: str) -> Reader:
    """A reader of one dialogue a line, its utterances separated by `separator`."""

    def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
        for line in read_lines(stream, limits):
            if isinstance(line, RowError):
                yield line
            elif line.text.strip():
                yield _dialogue(line, separator, limits)

    return read


def _dialogue(line: Line, separator: str, limits: Limits) -> ParsedDialogue | RowError:
    # DailyDialog also ends every line with the separator; other corpora only put it between utterances.
    texts = line.text.rstrip().removesuffix(separator).split(separator)
    try:
        if len(texts) > limits.utterances:
            raise BadRow("too_many", path="dialogue", limit=limits.utterances)
        utterances = tuple(
            alternating_utterance(text, position, limits) for position, text in enumerate(texts)
        )
    except BadRow as problem:
        return problem.at(line.number)
    return ParsedDialogue(line.number, None, utterances)


def alternating_utterance(text: str, position: int, limits: Limits) -> ParsedUtterance:
    """The utterance at this position, spoken by A and B in turn, stripped. Raises BadRow."""
    return ParsedUtterance(SPEAKERS[position % 2], check_text(text.strip(), f"utterance[{position}]", limits))


read = line_reader(SEPARATOR)
