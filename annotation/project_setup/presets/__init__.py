"""Presets: ready-made projects, as data."""

from annotation.project_setup.presets import diamante
from annotation.project_setup.presets.labelling import LABELLING
from annotation.project_setup.presets.preset import LabellingDefaults, Preset, TopicIdea

PRESETS: dict[str, Preset] = {"diamante": diamante.PRESET, **LABELLING}

__all__ = ["PRESETS", "LabellingDefaults", "Preset", "TopicIdea"]
