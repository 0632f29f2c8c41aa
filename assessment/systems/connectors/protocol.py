"""What a connector is: one way to talk to a system under test.

Plain values in, plain values out. A connector keeps nothing of a conversation: a worker may be killed after any reply,
and another one asks for the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from generation.protocol import Message


@dataclass(frozen=True, slots=True)
class Conversation:
    """dialogue_id: of the stored texts; names the conversation. persona: sentences about the system."""

    dialogue_id: int
    persona: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What a system is asked. context: oldest utterance first, the participant's input last; "A" is the participant.

    handle: what `open` returned for the conversation. deadline: on the clock of time.monotonic.
    """

    conversation: Conversation
    context: tuple[Message, ...]
    seed: int
    deadline: float
    handle: str = ""


@dataclass(frozen=True, slots=True)
class SystemReply:
    """text: as the system wrote it. trace: what is worth knowing about it later, as JSON."""

    text: str
    trace: Mapping[str, Any] = field(default_factory=dict)


class Connector(Protocol):
    """Raises generation.protocol.BackendError if the system fails: a cause and a remedy for a person."""

    def open(self, conversation: Conversation, deadline: float) -> str:
        """Begin a conversation; returns what the system calls it, "" if it keeps no state."""
        ...

    def reply(self, question: Question) -> SystemReply: ...

    def close(self, handle: str, deadline: float) -> None:
        """End a conversation that `open` began."""
        ...
