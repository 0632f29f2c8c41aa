"""Presets: ready-made projects, as data."""

from annotation.presets import diamante
from annotation.presets.labelling import LABELLING
from annotation.presets.preset import LabellingDefaults, Preset, TopicIdea

PRESETS: dict[str, Preset] = {"diamante": diamante.PRESET, **LABELLING}

__all__ = ["PRESETS", "LabellingDefaults", "Preset", "TopicIdea"]
