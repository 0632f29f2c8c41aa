from dataclasses import dataclass

from projects.models import Protocol


@dataclass(frozen=True, slots=True)
class TopicIdea:
    language: str
    title: str
    example: str


@dataclass(frozen=True, slots=True)
class Preset:
    """What a new project starts with; everything can be changed later in the project."""

    protocol: Protocol
    guidelines_en: str
    guidelines_zh: str
    topics: tuple[TopicIdea, ...]
