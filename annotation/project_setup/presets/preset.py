"""What a preset holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise

from projects.models import Protocol


@dataclass(frozen=True, slots=True)
class TopicIdea:
    language: str
    title: str
    example: str


@dataclass(frozen=True, slots=True)
class LabellingDefaults:
    """Values for LabellingSettings. Its other fields keep the defaults of the model."""

    overlap: int
    resolution: str
    ties: str
    min_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Preset:
    """What a new project starts with. Everything can be changed later in the project.

    title: with the paper's name, if it has one. explanation: one sentence for whoever chooses.
    paper: authors and title.
    schema (see annotation.labelling.schema.reading.read_schema) and labelling: only for the protocol `labelling`.
    """

    protocol: Protocol
    guidelines_en: str
    guidelines_zh: str
    title: str | Promise
    explanation: str | Promise
    paper: str = ""
    topics: tuple[TopicIdea, ...] = ()
    schema: Mapping[str, Any] | None = None
    labelling: LabellingDefaults | None = None
