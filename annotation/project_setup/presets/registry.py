"""All presets by name; higher apps add theirs when they are ready."""

from annotation.project_setup.presets import blank, diamante
from annotation.project_setup.presets.labelling import LABELLING
from annotation.project_setup.presets.preset import Preset

PRESETS: dict[str, Preset] = {
    "diamante": diamante.PRESET,
    **LABELLING,
    "blank-labelling": blank.LABELLING,
    "blank-authoring": blank.AUTHORING,
}
