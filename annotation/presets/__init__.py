"""Presets: ready-made projects, as data. Each is a module of this package."""

from annotation.presets import diamante
from annotation.presets.preset import Preset, TopicIdea

PRESETS: dict[str, Preset] = {"diamante": diamante.PRESET}

__all__ = ["PRESETS", "Preset", "TopicIdea"]
