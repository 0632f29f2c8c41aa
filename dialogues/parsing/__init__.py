"""Reading dialogues from files: pure, streaming, one module per family of formats."""

from dialogues.parsing.formats import FORMATS, Format, parse
from dialogues.parsing.guess import Sample, guess, sample
from dialogues.parsing.identity import identified
from dialogues.parsing.records import Limits, ParsedDialogue, ParsedUtterance, RowError

__all__ = [
    "FORMATS",
    "Format",
    "Limits",
    "ParsedDialogue",
    "ParsedUtterance",
    "RowError",
    "Sample",
    "guess",
    "identified",
    "parse",
    "sample",
]
