"""A dialogue as a format reader yields it, and the limits that the reader applies."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from dialogues.parsing.row_errors import RowError

# Sizes of the columns in dialogues.models; longer values are refused, never cut.
EXTERNAL_ID_CHARS = 200
SPEAKER_CHARS = 80
TIME_CHARS = 40
LANGUAGE_CHARS = 10
DOMAIN_CHARS = 80
MODEL_VERSION_CHARS = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may hold. `line_bytes` limits the memory of the reader, whatever the size of the file."""

    utterance_chars: int = 20_000
    utterances: int = 2_000
    candidates: int = 100
    dialogues: int = 5_000_000
    line_bytes: int = 8 * 1024**2
    file_bytes: int = 2 * 1024**3
    metadata_depth: int = 32


@dataclass(frozen=True, slots=True)
class ParsedUtterance:
    """One message. candidates: the replies offered for it, in displayed order; source: index of the chosen one."""

    speaker: str
    text: str
    time: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    action: str | None = None
    source: int | None = None
    edit_distance: int | None = None
    model_version: str = ""


@dataclass(frozen=True, slots=True)
class ParsedDialogue:
    """One dialogue; `line` is the number, from 1, of the line on which it begins."""

    line: int
    external_id: str | None
    utterances: tuple[ParsedUtterance, ...]
    language: str | None = None
    domain: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


Reader = Callable[[BinaryIO, Limits], Iterator[ParsedDialogue | RowError]]
