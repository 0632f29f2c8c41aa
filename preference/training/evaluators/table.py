"""All evaluators by name, and how each is built from its specification.

What an evaluator needs is imported when it is built: models take seconds to load PyTorch, and a judge needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import Evaluator
from preference.training.common.messages import gettext as _
from preference.training.evaluators.judge_settings import (
    JUDGE_SETTINGS,
    ask_in_steps,
    judge_questions,
    judge_server,
)
from preference.training.evaluators.specification import Specification, parse_specification


@dataclass(frozen=True, slots=True)
class Kind:
    """An evaluator that can be built. usage: its specification, for the help text. settings: that it takes."""

    build: Callable[[Specification], Evaluator]
    usage: str
    help: str
    settings: tuple[str, ...] = ()


def _build_length(specification: Specification) -> Evaluator:
    from preference.training.evaluators.controls import Length

    unit = specification.value_choice(("characters", "words"))
    return Length(specification.name, "words" if unit == "words" else "characters")


def _build_distinct(specification: Specification) -> Evaluator:
    from preference.training.evaluators.controls import Distinct

    return Distinct(specification.name, specification.value_number(2))


def _build_random(specification: Specification) -> Evaluator:
    from preference.training.evaluators.controls import Random

    return Random(specification.name, specification.value_number(1, low=0))


def _build_bleu(specification: Specification) -> Evaluator:
    from preference.training.evaluators.reference import Bleu

    return Bleu(specification.name, specification.value_number(4))


def _build_chrf(specification: Specification) -> Evaluator:
    from preference.training.evaluators.reference import ChrF

    return ChrF(specification.name)


def _build_rouge_l(specification: Specification) -> Evaluator:
    from preference.training.evaluators.reference import RougeL

    return RougeL(specification.name)


def _build_likelihood(specification: Specification) -> Evaluator:
    from preference.training.evaluators.ranker import Ranker

    return Ranker(
        specification.name,
        specification.required(_("a model folder or hub id")),
        "likelihood",
        context=specification.number("context", 384),
        reply=specification.number("reply", 128, low=2),
        device=specification.choice("device", DEVICES),
    )


def _build_preference(specification: Specification) -> Evaluator:
    from preference.training.evaluators.ranker import Ranker

    return Ranker(
        specification.name,
        specification.required(_("a folder that joint training wrote")),
        "preference",
        context=specification.number("context", 384),
        reply=specification.number("reply", 128, low=2),
        device=specification.choice("device", DEVICES),
    )


def _build_paireval(specification: Specification) -> Evaluator:
    from preference.training.paireval.scorer import load_paireval

    comparisons = specification.text_setting("comparisons")
    return load_paireval(
        specification.required(_("a model folder or hub id")),
        comparisons=Path(comparisons) if comparisons else None,
        k=specification.number("k", 3),
        template=specification.optional_choice("template", TEMPLATES),
        question="pair",
        weights=specification.choice("weights", WEIGHTS),
        device=specification.choice("device", DEVICES),
        name=specification.name,
    )


def _build_directeval(specification: Specification) -> Evaluator:
    from preference.training.paireval.scorer import load_paireval

    return load_paireval(
        specification.required(_("a model folder or hub id")),
        template=specification.optional_choice("template", TEMPLATES),
        question="direct",
        device=specification.choice("device", DEVICES),
        name=specification.name,
    )


def _build_assessor(specification: Specification) -> Evaluator:
    from preference.training.assessor.assessor import load_assessor

    folder = Path(specification.required(_("the folder `model` of a trained assessor")))
    return load_assessor(folder, device=specification.choice("device", DEVICES), name=specification.name)


def _build_judge(specification: Specification) -> Evaluator:
    from preference.training.evaluators.judge import Judge

    return Judge(
        specification.name,
        judge_server(specification),
        judge_questions(specification),
        in_steps=ask_in_steps(specification),
    )


def _build_lexical(specification: Specification) -> Evaluator:
    from preference.training.evaluators.lexical import fit_lexical

    data = Path(specification.required(_("a snapshot folder, to fit on its split train")))
    return fit_lexical(data, name=specification.name)


DEVICES = ("auto", "cpu", "cuda")
TEMPLATES = ("inst", "chat")
WEIGHTS = ("equal", "human")
MODEL_SETTINGS = ("context", "reply", "device")
PAIR_SETTINGS = ("comparisons", "k", "template", "weights", "device")
KINDS: Mapping[str, Kind] = {
    "paireval": Kind(_build_paireval, "paireval=FOLDER", "compared with a few other replies", PAIR_SETTINGS),
    "directeval": Kind(
        _build_directeval, "directeval=FOLDER", "a model is asked whether it is good", ("template", "device")
    ),
    "assessor": Kind(
        _build_assessor, "assessor=FOLDER", "expected label of the dialogue so far", ("device",)
    ),
    "likelihood": Kind(_build_likelihood, "likelihood=FOLDER", "nats per token of the reply", MODEL_SETTINGS),
    "preference": Kind(
        _build_preference, "preference=FOLDER", "score of a joint model's head", MODEL_SETTINGS
    ),
    "judge": Kind(
        _build_judge, "judge=URL,model=NAME", "an OpenAI-compatible server is asked", JUDGE_SETTINGS
    ),
    "bleu": Kind(_build_bleu, "bleu[=ORDER]", "overlap with the reference (sacrebleu)"),
    "chrf": Kind(_build_chrf, "chrf", "overlap with the reference in characters (sacrebleu)"),
    "rouge_l": Kind(_build_rouge_l, "rouge_l", "overlap with the reference (rouge-score)"),
    "length": Kind(_build_length, "length[=words]", "control: characters or words"),
    "distinct": Kind(_build_distinct, "distinct[=N]", "control: share of different n-grams"),
    "lexical": Kind(
        _build_lexical, "lexical=SNAPSHOT", "control: n-grams of the reply alone, fitted on train"
    ),
    "random": Kind(_build_random, "random[=SEED]", "control: a random number"),
}


def build_evaluator(text: str) -> Evaluator:
    """The evaluator that a specification describes. Raises TrainingError."""
    specification = parse_specification(text)
    kind = KINDS.get(specification.evaluator)
    if kind is None:
        raise TrainingError(
            _("There is no evaluator %(name)s.") % {"name": specification.evaluator},
            _("Use one of %(names)s.") % {"names": ", ".join(KINDS)},
        )
    specification.check_settings(kind.settings)
    return kind.build(specification)


def build_evaluators(texts: Sequence[str]) -> list[Evaluator]:
    """Several evaluators with different names. Raises TrainingError before any model is loaded if names are equal."""
    names = [parse_specification(text).name for text in texts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TrainingError(
            _("Two evaluators are called %(name)s.") % {"name": twice},
            _("Add name=… to one of them."),
        )
    return [build_evaluator(text) for text in texts]


def usage() -> str:
    """The table for a help text."""
    rows = [f"  {kind.usage:28}{kind.help}" for kind in KINDS.values()]
    return "\n".join([*rows, "  Settings follow after commas: NAME=VALUE,context=512,name=column"])
