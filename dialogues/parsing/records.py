"""What every format reader yields: a dialogue, or why a row is not one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from dialogues.parsing.problems import explain

# Room in the columns of dialogues.models; longer values are refused, never cut.
EXTERNAL_ID_CHARS = 200
SPEAKER_CHARS = 80
TIME_CHARS = 40
LANGUAGE_CHARS = 10
DOMAIN_CHARS = 80
MODEL_VERSION_CHARS = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may hold. `line_bytes` bounds the reader's memory, whatever the size of the file."""

    utterance_chars: int = 20_000
    utterances: int = 2_000
    candidates: int = 100
    dialogues: int = 5_000_000
    line_bytes: int = 8 * 1024**2
    file_bytes: int = 2 * 1024**3
    metadata_depth: int = 32


@dataclass(frozen=True, slots=True)
class ParsedUtterance:
    """One message. candidates: the replies it was chosen among, in displayed order; source: place in them, from 0."""

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
    """One dialogue; `line` is the line, from 1, on which it begins."""

    line: int
    external_id: str | None
    utterances: tuple[ParsedUtterance, ...]
    language: str | None = None
    domain: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowError:
    """Why a row is refused. Kept as a code and its parameters, so that each reader sees it in their own language.

    fatal: nothing after it was read. external_id: set where the whole dialogue of that name is refused with it, also
    the part of it that was read before.
    """

    line: int
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)
    fatal: bool = False
    external_id: str | None = None

    @property
    def reason(self) -> str:
        """The cause, one sentence in the active language."""
        return explain(self.code, self.params)[0]

    @property
    def remedy(self) -> str:
        """What to do about it, in the active language."""
        return explain(self.code, self.params)[1]

    def __str__(self) -> str:
        return f"{self.line}: {self.reason} {self.remedy}"


class BadRow(Exception):
    """Raised inside a reader; becomes the RowError of the row at hand."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params

    def at(self, line: int, *, external_id: str | None = None) -> RowError:
        """The error for that line."""
        return RowError(line, self.code, self.params, external_id=external_id)


Reader = Callable[[BinaryIO, Limits], Iterator[ParsedDialogue | RowError]]
