"""The labelling presets. Each has questions (NAME.yaml) and guidelines (NAME.en.md, NAME.zh.md)."""

from pathlib import Path

from annotation.labelling.models.labels import Resolution, Ties
from annotation.labelling.schema.yaml_text import read_yaml
from annotation.project_setup.presets.preset import LabellingDefaults, Preset
from projects.models import Protocol

DEFAULTS = {
    # §4.2: two must agree, after a minimum reading time. The paper does not give the time.
    "diqad": LabellingDefaults(2, Resolution.AGREEMENT, Ties.TRAINER, min_seconds=20),
    # §3.3: three. The measures average (AUCH) or consolidate (CUCH) their judgements.
    "dch": LabellingDefaults(3, Resolution.COLLECT, Ties.MEDIAN),
    # 19 per dialogue, as in the released data. Gold labels are distributions.
    "dialeval": LabellingDefaults(19, Resolution.COLLECT, Ties.MEDIAN),
    # §3.2: three, majority vote.
    "diamante-evaluation": LabellingDefaults(3, Resolution.MAJORITY, Ties.MEDIAN),
}
HERE = Path(__file__).parent


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def preset_yaml(name: str) -> str:
    """The YAML text of a preset's questions, with its comments."""
    return _read(f"{name}.yaml")


def _preset(name: str, labelling: LabellingDefaults) -> Preset:
    return Preset(
        protocol=Protocol.LABELLING,
        guidelines_en=_read(f"{name}.en.md"),
        guidelines_zh=_read(f"{name}.zh.md"),
        schema=read_yaml(preset_yaml(name)).content,
        labelling=labelling,
    )


LABELLING = {name: _preset(name, labelling) for name, labelling in DEFAULTS.items()}
