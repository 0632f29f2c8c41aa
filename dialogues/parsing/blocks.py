"""`utterances`: one utterance a line, a blank line between dialogues; two speakers, A and B, in turn."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from dialogues.parsing.eou import turn
from dialogues.parsing.lines import Line, read_lines
from dialogues.parsing.records import BadRow, Limits, ParsedDialogue, ParsedUtterance, RowError


@dataclass(slots=True)
class _Block:
    """The dialogue being read. Every utterance is checked as it comes, so that a block is never large."""

    line: int
    utterances: list[ParsedUtterance] = field(default_factory=list)
    refused: bool = False

    def add(self, line: Line, limits: Limits) -> None:
        """Add an utterance; raises BadRow."""
        place = len(self.utterances)
        if place == limits.utterances:
            raise BadRow("too_many", path="dialogue", limit=limits.utterances)
        self.utterances.append(turn(line.text, place, limits))


def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
    """The dialogues of the file, in order; a line that is refused takes its whole dialogue with it."""
    block: _Block | None = None
    for line in read_lines(stream, limits):
        if isinstance(line, Line) and not line.text.strip():
            if block and not block.refused:
                yield _dialogue(block)
            block = None
            continue
        block = block or _Block(line.line if isinstance(line, RowError) else line.number)
        if not block.refused and (problem := _problem(block, line, limits)):
            block.refused = True
            block.utterances.clear()
            yield problem
    if block and not block.refused:
        yield _dialogue(block)


def _problem(block: _Block, line: Line | RowError, limits: Limits) -> RowError | None:
    if isinstance(line, RowError):
        return line
    try:
        block.add(line, limits)
    except BadRow as problem:
        return problem.at(line.number)
    return None


def _dialogue(block: _Block) -> ParsedDialogue:
    return ParsedDialogue(block.line, None, tuple(block.utterances))
