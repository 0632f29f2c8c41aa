"""The labelling presets. Each has questions (NAME.yaml) and guidelines (NAME.en.md, NAME.zh.md)."""

from pathlib import Path

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

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
# Title, explanation and paper of each.
ABOUT: dict[str, tuple[str | Promise, str | Promise, str]] = {
    "diqad": (
        gettext_lazy("DiQAD: quality of answers"),
        gettext_lazy(
            "Two people rate how well a dialogue answers a question and give reasons; where they differ they confirm, "
            "then a trainer decides."
        ),
        "Zhao et al., DiQAD: A Benchmark Dataset for End-to-End Open-domain Dialogue Assessment",
    ),
    "dch": (
        gettext_lazy("DCH-1: helpdesk dialogues and nuggets"),
        gettext_lazy(
            "Three people rate a dialogue between customer and helpdesk and mark the posts that helped; the scores UCH "
            "come from their marks."
        ),
        "Zeng et al., Test Collections and Measures for Evaluating Customer-Helpdesk Dialogues",
    ),
    "dialeval": (
        gettext_lazy("DialEval-1: helpdesk dialogues as distributions"),
        gettext_lazy(
            "Nineteen people rate accomplishment, satisfaction and efficiency on five levels and mark nuggets; the "
            "spread of their answers is the label."
        ),
        "Zeng et al., Overview of the NTCIR-15 Dialogue Evaluation (DialEval-1) Task",
    ),
    "diamante-evaluation": (
        gettext_lazy("Diamante: judge replies of a chatbot"),
        gettext_lazy(
            "Three people judge coherence, informativeness and safety of every reply, then how engaging the chat is; "
            "the majority counts."
        ),
        "Lu et al., Towards Boosting the Open-Domain Chatbot with Human Feedback",
    ),
}
HERE = Path(__file__).parent


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def preset_yaml(name: str) -> str:
    """The YAML text of a preset's questions, with its comments."""
    return _read(f"{name}.yaml")


def _preset(name: str, labelling: LabellingDefaults) -> Preset:
    title, explanation, paper = ABOUT[name]
    return Preset(
        title=title,
        explanation=explanation,
        paper=paper,
        protocol=Protocol.LABELLING,
        guidelines_en=_read(f"{name}.en.md"),
        guidelines_zh=_read(f"{name}.zh.md"),
        schema=read_yaml(preset_yaml(name)).content,
        labelling=labelling,
    )


LABELLING = {name: _preset(name, labelling) for name, labelling in DEFAULTS.items()}
