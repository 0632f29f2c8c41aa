"""`utterances`: one utterance a line, a blank line between dialogues; two speakers, A and B, in turn."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from dialogues.parsing.lines import Line, read_lines
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, ParsedUtterance
from dialogues.parsing.readers.eou import alternating_utterance
from dialogues.parsing.row_errors import BadRow, RowError


@dataclass(slots=True)
class _OpenDialogue:
    """The dialogue being read. Every utterance is checked at once, so that its size is limited."""

    line: int
    utterances: list[ParsedUtterance] = field(default_factory=list)
    is_refused: bool = False

    def add(self, line: Line, limits: Limits) -> None:
        """Add an utterance; raises BadRow."""
        position = len(self.utterances)
        if position == limits.utterances:
            raise BadRow("too_many", path="dialogue", limit=limits.utterances)
        self.utterances.append(alternating_utterance(line.text, position, limits))


def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
    """The dialogues of the file, in order. A refused line refuses its whole dialogue."""
    dialogue: _OpenDialogue | None = None
    for line in read_lines(stream, limits):
        if isinstance(line, Line) and not line.text.strip():
            if dialogue and not dialogue.is_refused:
                yield _parsed(dialogue)
            dialogue = None
            continue
        dialogue = dialogue or _OpenDialogue(line.line if isinstance(line, RowError) else line.number)
        if not dialogue.is_refused and (problem := _add(dialogue, line, limits)):
            dialogue.is_refused = True
            dialogue.utterances.clear()
            yield problem
    if dialogue and not dialogue.is_refused:
        yield _parsed(dialogue)


def _add(dialogue: _OpenDialogue, line: Line | RowError, limits: Limits) -> RowError | None:
    if isinstance(line, RowError):
        return line
    try:
        dialogue.add(line, limits)
    except BadRow as problem:
        return problem.at(line.number)
    return None


def _parsed(dialogue: _OpenDialogue) -> ParsedDialogue:
    return ParsedDialogue(dialogue.line, None, tuple(dialogue.utterances))
