"""A row of a file as a format reader yields it, and the limits that the reader applies."""

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
    """What a file may hold. `line_bytes` limits the memory of the reader, whatever the size of the file.

    tree_messages: messages with parents, which are all held in memory.
    """

    utterance_chars: int = 20_000
    utterances: int = 2_000
    candidates: int = 100
    dialogues: int = 5_000_000
    line_bytes: int = 8 * 1024**2
    file_bytes: int = 2 * 1024**3
    metadata_depth: int = 32
    tree_messages: int = 500_000


@dataclass(frozen=True, slots=True)
class ParsedUtterance:
    """One message. candidates: the replies offered for it, in displayed order; source: index of the chosen one.

    action_derived: whether the file says that its action was derived from the texts by an earlier import.
    """

    speaker: str
    text: str
    time: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    action: str | None = None
    source: int | None = None
    edit_distance: int | None = None
    model_version: str = ""
    action_derived: bool = False


@dataclass(frozen=True, slots=True)
class ParsedDialogue:
    """One dialogue; `line` is the number, from 1, of the line on which it begins.

    tree: the id that it shares with the dialogues that begin with the same messages; None: it stands alone.
    language_given: the language was chosen for the import; the file names none.
    """

    line: int
    external_id: str | None
    utterances: tuple[ParsedUtterance, ...]
    language: str | None = None
    domain: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tree: str | None = None
    language_given: bool = False

    @property
    def dialogue_count(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class ScoreKind:
    """What a file says about a score: is_reversed: agreeing is bad; in_test: it is used in the reliability test."""

    is_reversed: bool
    in_test: bool


@dataclass(frozen=True, slots=True)
class ParsedConversation:
    """One conversation of an assignment with a system. scores: 0-100 by statement, not reversed; empty if unrated.

    utterances: of the participant ("A") and the system ("B"); empty if the file has no texts. topics: {"round",
    "topic", "attitude"} as they changed; round 0 is the beginning.
    """

    system: str
    is_degraded: bool
    scores: Mapping[str, float]
    utterances: tuple[ParsedUtterance, ...] = ()
    persona: tuple[str, ...] = ()
    topics: tuple[Mapping[str, Any], ...] = ()
    bot_opinion: str = ""
    topic_change: str = ""


@dataclass(frozen=True, slots=True)
class ParsedAssignment:
    """One assignment of a live assessment; `line` is the number, from 1, of the line on which it begins.

    external_id: the file's name of the assignment. group: the HIT that it belongs to. score_kinds: of the whole file.
    """

    line: int
    external_id: str
    participant: str
    group: str
    duration_seconds: float | None
    feedback: str
    conversations: tuple[ParsedConversation, ...]
    score_kinds: Mapping[str, ScoreKind]

    @property
    def dialogue_count(self) -> int:
        return len(self.conversations)


ParsedRow = ParsedDialogue | ParsedAssignment
Reader = Callable[[BinaryIO, Limits], Iterator[ParsedRow | RowError]]
