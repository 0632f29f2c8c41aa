"""Labelling as in the papers: for each preset its questions (NAME.yaml) and guidelines (NAME.en.md, NAME.zh.md)."""

from pathlib import Path

from annotation.labelling.models.labels import Resolution, Ties
from annotation.labelling.schema.yaml_text import read_yaml
from annotation.project_setup.presets.preset import LabellingDefaults, Preset
from projects.models import Protocol

DEFAULTS = {
    # §4.2: two must agree, after at least a fixed time of reading (the paper does not say which).
    "diqad": LabellingDefaults(2, Resolution.AGREEMENT, Ties.TRAINER, min_seconds=20),
    # §3.3: three, whose judgements are averaged (AUCH) or consolidated (CUCH) by the measures.
    "dch": LabellingDefaults(3, Resolution.COLLECT, Ties.MEDIAN),
    # 19 per dialogue, as in the released data; gold labels are distributions.
    "dialeval": LabellingDefaults(19, Resolution.COLLECT, Ties.MEDIAN),
    # §3.2: three, majority vote.
    "diamante-evaluation": LabellingDefaults(3, Resolution.MAJORITY, Ties.MEDIAN),
}
HERE = Path(__file__).parent


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def yaml_of(name: str) -> str:
    """The questions of a preset as they are written, with comments."""
    return _text(f"{name}.yaml")


def _preset(name: str, labelling: LabellingDefaults) -> Preset:
    return Preset(
        protocol=Protocol.LABELLING,
        guidelines_en=_text(f"{name}.en.md"),
        guidelines_zh=_text(f"{name}.zh.md"),
        schema=read_yaml(yaml_of(name)).content,
        labelling=labelling,
    )


LABELLING = {name: _preset(name, labelling) for name, labelling in DEFAULTS.items()}
