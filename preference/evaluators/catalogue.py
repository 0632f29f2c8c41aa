"""Every evaluator: what its scores mean, what it needs, its settings, and its specification on a command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.refusals import Invalid
from generation.generators import KEY_VARIABLE
from preference.evaluators.models import EvaluatorName, ScoringRun
from preference.registry.models import ModelKind

Text = str | Promise
Settings = dict[str, int | str]
LARGEST: Final = 2**31 - 1
MOST_TEXT: Final = 300  # characters of a setting


class Needs(StrEnum):
    """What an evaluator computes with, beside the replies."""

    NOTHING = "nothing"
    REFERENCE = "reference"
    MODEL = "model"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. A number if its default is one, else one of `options`, else text.

    option: its name in the specification; "" makes it the value of the evaluator itself, None leaves it out.
    """

    key: str
    label: Text
    default: int | str
    option: str | None = None
    options: Mapping[str, Text] = field(default_factory=dict)
    low: int = 1
    high: int = LARGEST

    def parse(self, value: object) -> int | str:
        """The value of the setting. Raises Invalid."""
        if isinstance(self.default, int):
            if isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high:
                return value
            message = _("“%(name)s” must be a whole number from %(low)s to %(high)s.")
            raise _refusal(message, name=self.label, low=self.low, high=self.high)
        if not isinstance(value, str) or len(value) > MOST_TEXT:
            raise _refusal(
                _("“%(name)s” must be text of at most %(most)s characters."), name=self.label, most=MOST_TEXT
            )
        if self.options and value not in self.options:
            raise _refusal(
                _("“%(name)s” must be one of: %(options)s."),
                name=self.label,
                options=", ".join(self.options),
            )
        if "," in value:  # it separates the settings of a specification
            raise _refusal(_("“%(name)s” must not contain a comma."), name=self.label)
        return value.strip()


def _refusal(message: str, **values: object) -> Invalid:
    return Invalid(message % values, _("Correct the setting."), field="settings")


@dataclass(frozen=True, slots=True)
class EvaluatorKind:
    """meaning: what a score is, with its unit. needs: beside the replies.

    models: kinds of registered models that it computes with. any_model: whether unregistered models fit, too.
    """

    meaning: Text
    needs: Needs = Needs.NOTHING
    settings: tuple[Setting, ...] = ()
    models: tuple[ModelKind, ...] = ()
    any_model: bool = True


CONTEXT = Setting("context", gettext_lazy("Longest context (tokens)"), 384, "context", low=8)
REPLY = Setting("reply", gettext_lazy("Longest reply (tokens)"), 128, "reply", low=2)
TEMPLATE = Setting(
    "template",
    gettext_lazy("Form of the prompt"),
    "",
    "template",
    {
        "": gettext_lazy("as the model was trained"),
        "inst": "[INST] … [/INST]",
        "chat": gettext_lazy("chat template"),
    },
)
SEED = Setting("seed", gettext_lazy("Seed of the comparison examples"), 1, None, low=0)
LANGUAGE_MODELS = (ModelKind.JOINT, ModelKind.PAIREVAL)
YES_NO = {"no": gettext_lazy("no"), "yes": gettext_lazy("yes")}
SERVER_KEY = "api_key_env"
QUESTION = "question"

KINDS: Final[Mapping[str, EvaluatorKind]] = {
    EvaluatorName.PAIREVAL: EvaluatorKind(
        gettext_lazy("Probability that the reply is better than other replies, 0 to 1"),
        Needs.MODEL,
        (Setting("k", gettext_lazy("Comparison examples"), 3, "k", high=50), TEMPLATE, SEED),
        LANGUAGE_MODELS,
    ),
    EvaluatorName.DIRECTEVAL: EvaluatorKind(
        gettext_lazy("Probability of “Yes” to whether the reply is good, 0 to 1"),
        Needs.MODEL,
        (TEMPLATE,),
        LANGUAGE_MODELS,
    ),
    EvaluatorName.PREFERENCE: EvaluatorKind(
        gettext_lazy("Score of a jointly trained model's preference head"),
        Needs.MODEL,
        (CONTEXT, REPLY),
        (ModelKind.JOINT,),
    ),
    EvaluatorName.LIKELIHOOD: EvaluatorKind(
        gettext_lazy("Mean log-probability of the reply, nats per token"),
        Needs.MODEL,
        (CONTEXT, REPLY),
        LANGUAGE_MODELS,
    ),
    EvaluatorName.ASSESSOR: EvaluatorKind(
        gettext_lazy("Expected quality label of the dialogue up to the reply, 0 to 2"),
        Needs.MODEL,
        models=(ModelKind.ASSESSOR,),
        any_model=False,
    ),
    EvaluatorName.JUDGE: EvaluatorKind(
        gettext_lazy("Answer of a language model to a question"),
        Needs.SERVER,
        (
            Setting("server", gettext_lazy("Address of the server"), "", ""),
            Setting("server_model", gettext_lazy("Model, as the server calls it"), "", "model"),
            Setting(
                SERVER_KEY, gettext_lazy("Environment variable that holds the server's key"), "", "key_env"
            ),
            Setting(QUESTION, gettext_lazy("Question of the schema (empty: how good the reply is)"), ""),
            Setting(
                "language",
                gettext_lazy("Language of the prompt"),
                "en",
                "language",
                {"en": "English", "zh": "中文"},
            ),
            Setting("steps", gettext_lazy("Let it write down its steps first"), "no", "steps", YES_NO),
        ),
    ),
    EvaluatorName.BLEU: EvaluatorKind(
        gettext_lazy("Overlap of words with the reference, 0 to 100"),
        Needs.REFERENCE,
        (Setting("order", gettext_lazy("Longest n-gram"), 4, "", high=8),),
    ),
    EvaluatorName.CHRF: EvaluatorKind(
        gettext_lazy("Overlap of characters with the reference, 0 to 100"), Needs.REFERENCE
    ),
    EvaluatorName.ROUGE_L: EvaluatorKind(
        gettext_lazy("Longest common part with the reference, 0 to 1"), Needs.REFERENCE
    ),
    EvaluatorName.LENGTH: EvaluatorKind(
        gettext_lazy("Length of the reply, a control"),
        settings=(
            Setting(
                "unit",
                gettext_lazy("Unit"),
                "characters",
                "",
                {"characters": gettext_lazy("characters"), "words": gettext_lazy("words")},
            ),
        ),
    ),
    EvaluatorName.DISTINCT: EvaluatorKind(
        gettext_lazy("Share of different n-grams in the reply, a control, 0 to 1"),
        settings=(Setting("n", gettext_lazy("Words of an n-gram"), 2, "", high=8),),
    ),
    EvaluatorName.RANDOM: EvaluatorKind(
        gettext_lazy("A random number, a control, 0 to 1"),
        settings=(Setting("seed", gettext_lazy("Seed"), 1, "", low=0),),
    ),
}


def parse_settings(evaluator: str, given: Mapping[str, Any]) -> Settings:
    """All settings of the evaluator, with defaults for those that are missing. Raises Invalid."""
    settings = {setting.key: setting for setting in KINDS[evaluator].settings}
    if unknown := sorted(set(given) - set(settings)):
        raise Invalid(
            _("The evaluator has no setting “%(name)s”.") % {"name": unknown[0][:40]},
            _("Its settings are: %(names)s.") % {"names": ", ".join(settings) or "–"},
            field="settings",
        )
    return {
        key: setting.parse(given[key]) if key in given else setting.default
        for key, setting in settings.items()
    }


def check_server(settings: Settings) -> None:
    """Raise Invalid unless a judge's settings name an address, a model and, if any, a variable that holds a key."""
    address = str(settings["server"])
    if not address.startswith(("http://", "https://")) or "@" in address:
        raise Invalid(
            _("“%(value)s” is not the address of a server.") % {"value": address[:200]},
            _("It looks like http://127.0.0.1:8000/v1, without a password."),
            field="settings",
        )
    if not settings["server_model"]:
        raise Invalid(_("The judge needs a model."), _("Name it as the server calls it."), field="settings")
    name = str(settings[SERVER_KEY])
    if name and not KEY_VARIABLE.fullmatch(name):
        raise Invalid(
            _("“%(name)s” is not a variable for keys.") % {"name": name[:80]},
            _("Name OPENAI_API_KEY, or one that begins with LAPIDARY_KEY_."),
            field="settings",
        )


def specification(evaluator: str, settings: Settings, model: str = "", **paths: Path) -> str:
    """The evaluator as `python -m preference.training.evaluators` reads it. model: a folder or hub id.

    paths: further settings that name files, such as comparisons.
    """
    value, parts = model, []
    for setting in KINDS[evaluator].settings:
        chosen = settings[setting.key]
        if setting.option == "":
            value = str(chosen)
        elif setting.option and chosen != "":
            parts.append(f"{setting.option}={chosen}")
    parts += [f"{key}={path}" for key, path in paths.items()]
    return ",".join([f"{evaluator}={value}" if value else evaluator, *parts])


def run_title(run: ScoringRun) -> str:
    """ "PairEval · chit-chat-2 · k=7": the evaluator, what it computes with, and unusual settings."""
    with_model = run.model.slug if run.model else Path(run.base).name
    unusual = [
        str(run.settings[setting.key])
        if setting.option == ""
        else f"{setting.key}={run.settings[setting.key]}"
        for setting in KINDS[run.evaluator].settings
        if setting.key not in ("server", SERVER_KEY)
        and run.settings.get(setting.key, setting.default) != setting.default
    ]
    return " · ".join(filter(None, [run.get_evaluator_display(), with_model, *unusual]))
