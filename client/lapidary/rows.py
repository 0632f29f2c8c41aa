"""What the server returns, as frozen rows. `raw` has everything, also what a newer server added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from lapidary.errors import ServerTooOld

Json = Mapping[str, Any]
Readers = Mapping[str, Callable[[Any], Any]]
RowType = TypeVar("RowType", bound="Row")


def read_time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


@dataclass(frozen=True)
class Row:
    """raw: the JSON object. _readers: what converts the JSON of a field."""

    _readers: ClassVar[Readers] = {}
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def read(cls: type[RowType], data: Json) -> RowType:
        """Raises ServerTooOld if a field without a default is missing."""
        own = [each for each in fields(cls) if each.name != "raw"]
        needed = [each.name for each in own if each.default is MISSING and each.default_factory is MISSING]
        if missing := [name for name in needed if name not in data]:
            raise ServerTooOld(
                f"The server's answer has no “{missing[0]}” for a {cls.__name__}.",
                "Upgrade the server, or install the version of lapidary that belongs to it.",
            )
        values = {each.name: cls._convert(each.name, data[each.name]) for each in own if each.name in data}
        return cls(raw=data, **values)

    @classmethod
    def _convert(cls, name: str, value: Any) -> Any:
        read = cls._readers.get(name)
        return read(value) if read and value is not None else value


def rows_of(kind: type[RowType]) -> Callable[[Sequence[Json]], list[RowType]]:
    return lambda values: [kind.read(value) for value in values]


@dataclass(frozen=True)
class Me(Row):
    """Who the token belongs to. scopes: what it may be used for."""

    username: str
    shown_name: str
    scopes: list[str] | None


@dataclass(frozen=True)
class Person(Row):
    """A member of a project."""

    username: str
    shown_name: str
    roles: list[str]
    reading_languages: list[str]
    group: str = ""


@dataclass(frozen=True)
class Utterance(Row):
    """source: place of the candidate that it was made from. action: select, revise, rewrite or empty."""

    position: int
    speaker: str
    text: str
    time: str = ""
    metadata: Json = field(default_factory=dict)
    action: str = ""
    source: int | None = None
    edit_distance: int | None = None


@dataclass(frozen=True)
class Dialogue(Row):
    """utterances, metadata: None in a list that was asked for without texts."""

    _readers: ClassVar[Readers] = {
        "created_at": read_time,
        "finished_at": read_time,
        "utterances": rows_of(Utterance),
    }
    id: int
    external_id: str
    origin: str
    state: str
    review_state: str
    split: str
    language: str
    domain: str
    topic: str
    utterance_count: int
    created_at: datetime
    finished_at: datetime | None
    metadata: Json | None = None
    utterances: list[Utterance] | None = None


@dataclass(frozen=True)
class Candidate(Row):
    """A reply of a model. score: of its preference head, comparable within a turn."""

    text: str
    seed: int | None
    tokens: int | None
    logprob: float | None
    score: float | None
    model_version: str = ""


@dataclass(frozen=True)
class CandidateSet(Row):
    """The candidates of one turn in displayed order. reply: what was sent there, None if nothing was."""

    _readers: ClassVar[Readers] = {
        "candidates": rows_of(Candidate),
        "created_at": read_time,
        "reply": Utterance.read,
    }
    id: int
    dialogue: int
    external_id: str
    split: str
    position: int
    candidates: list[Candidate]
    model_version: str
    sampling: Json
    created_at: datetime
    reply: Utterance | None

    @property
    def chosen(self) -> Candidate | None:
        """The candidate that was sent as it is, or edited."""
        place = self.reply.source if self.reply else None
        return self.candidates[place] if place is not None and place < len(self.candidates) else None


@dataclass(frozen=True)
class Label(Row):
    """The final label of a dialogue. A later one of the same dialogue replaces it.

    answers: {"dialogue": {question: value}, "utterances": {position: {question: value}}}. origin: single, unanimous,
    confirmed, decided, majority, collected or machine. review: of the round in which it is judged; None: no batches.
    """

    _readers: ClassVar[Readers] = {"decided_at": read_time}
    id: int
    dialogue: int
    external_id: str
    split: str
    schema: int
    answers: Json
    undecided: list[str]
    origin: str
    machine: Json | None
    batch: int | None
    round: int | None
    review: str | None
    decided_at: datetime

    @property
    def values(self) -> Mapping[str, Any]:
        """The answers about the dialogue as a whole."""
        answers: Mapping[str, Any] = self.answers.get("dialogue", {})
        return answers


@dataclass(frozen=True)
class RefusedRow(Row):
    """A row that an import refused."""

    line: int
    code: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class Promotion(Row):
    """A change of the project's model. before, after: None is the server's own model."""

    _readers: ClassVar[Readers] = {"created_at": read_time}
    id: str
    before: str | None
    after: str | None
    actor: str | None
    reason: str
    created_at: datetime


@dataclass(frozen=True)
class Model(Row):
    """A registered model. files: bytes by name. fault, remedy: why it could not be loaded; usually empty."""

    _readers: ClassVar[Readers] = {"created_at": read_time}
    slug: str
    project: str
    kind: str
    note: str
    parent: str | None
    base: str
    snapshot: str | None
    metrics: Json
    files: Mapping[str, int]
    bytes: int
    sha256: str
    version: str
    fault: str
    remedy: str
    generator: str | None
    has_files: bool
    created_at: datetime
