"""The form of a new training, the settings of a recipe in words, and the predicted duration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from uuid import uuid4

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.models import User
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.snapshots import held_out_split, usable_snapshots
from preference.registry.models import ModelKind
from preference.registry.selectors.bases import BaseModel, selectable_bases
from preference.runs.models import TrainingRun
from preference.runs.services.trainings import setting_arguments
from preference.runs.trainers import MOST_PROCESSES
from preference.training.common.errors import TrainingError
from preference.training.common.recipes import with_settings
from preference.training.joint.recipe import CHOICES, LEAST, RECIPES, JointRecipe, with_lora
from projects.models import Project

LARGEST: Final = 2**31 - 1
EVERY: Final = 0  # value of `similar` that draws the model's reply from all candidates

RECIPE_NAMES: Final = {
    "quick": gettext_lazy("quick"),
    "diamante": gettext_lazy("diamante (the paper's)"),
}
# In the order of the form.
SETTINGS: Final[dict[str, str | Promise]] = {
    "epochs": gettext_lazy("Epochs"),
    "batch": gettext_lazy("Quadruples per step"),
    "peak_lr": gettext_lazy("Learning rate at its peak"),
    "head_lr": gettext_lazy("Learning rate of the preference head at its peak"),
    "warmup": gettext_lazy("Warm-up (steps)"),
    "chat_template": gettext_lazy("Read dialogues through the model's chat template"),
    "context": gettext_lazy("Longest context (tokens)"),
    "reply": gettext_lazy("Longest reply (tokens)"),
    "similar": gettext_lazy(
        "Draw the model's reply from this many candidates that are least similar to the human reply (0: from all)"
    ),
    "clip": gettext_lazy("Largest norm of the gradient (0: any)"),
    "beta1": "Adam β₁",
    "beta2": "Adam β₂",
    "epsilon": "Adam ε",
    "precision": gettext_lazy("Precision"),
    "layout": gettext_lazy("Layout of the rows"),
    "token_budget": gettext_lazy("Largest number of tokens at once (memory)"),
    "recompute": gettext_lazy("Compute activations twice (slower, much less memory)"),
    "loss_chunk": gettext_lazy("Largest number of learned tokens with logits in memory at once"),
    "sharding": gettext_lazy("Spread weights over the processes"),
    "validate_every": gettext_lazy("Steps between validations (0: validate at the end of every epoch)"),
    "validation_turns": gettext_lazy("Largest number of turns to validate on"),
    "best_by": gettext_lazy("Weights to keep, if validated"),
    "patience": gettext_lazy("Stop after this many validations without an improvement (0: never)"),
    "lora_rank": gettext_lazy("LoRA rank"),
    "lora_alpha": "LoRA α",
    "lora_dropout": gettext_lazy("LoRA dropout"),
    "frozen_weights": gettext_lazy("Frozen weights of a LoRA training"),
}
VALUES: Final = {
    "auto": gettext_lazy("automatic"),
    "naive": gettext_lazy("naive: one row per triple"),
    "packed": gettext_lazy("packed: the context once per turn"),
    "trees": gettext_lazy("trees: the dialogue once"),
    "loss": gettext_lazy("of the lowest loss on held-out turns"),
    "p_at_1": gettext_lazy("of the highest P@1 on held-out turns"),
    "last": gettext_lazy("of the last step"),
    "fsdp": "FSDP",
    "deepspeed": "DeepSpeed",
    "4bit": gettext_lazy("4 bit"),
}
UNSET: Final = {
    "similar": gettext_lazy("of all"),
    "head_lr": gettext_lazy("as of the model"),
    "validate_every": pgettext_lazy("validation", "never"),
}
FLOATS: Final = ("peak_lr", "head_lr", "clip", "beta1", "beta2", "epsilon", "lora_dropout")
YES_OR_NO: Final = ("chat_template", "recompute")
ONLY_LORA: Final = ("lora_rank", "lora_alpha", "lora_dropout", "frozen_weights")


def processes_field() -> forms.IntegerField:
    """For the trainers that take --processes."""
    return forms.IntegerField(
        label=gettext_lazy("Processes"),
        min_value=1,
        max_value=MOST_PROCESSES,
        required=False,
        help_text=gettext_lazy(
            "The processes share the work of every step. Empty: one for each GPU, or one on a CPU."
        ),
    )


class TrainingForm(forms.Form):
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    snapshot = forms.ModelChoiceField(
        label=gettext_lazy("Snapshot"),
        queryset=Snapshot.objects.none(),
        empty_label=None,
        help_text=gettext_lazy(
            "The model learns from the split “train” of the snapshot and is evaluated on its held-out dialogues."
        ),
    )
    model = forms.ChoiceField(label=gettext_lazy("Begin from"))
    other = forms.CharField(
        label=gettext_lazy("Another folder or Hub id"),
        max_length=300,
        required=False,
        help_text=gettext_lazy("Only administrators may name one; it overrides the choice above."),
    )
    recipe = forms.ChoiceField(
        label=gettext_lazy("Recipe"),
        choices=list(RECIPE_NAMES.items()),
        widget=forms.RadioSelect,
        help_text=gettext_lazy(
            "quick: minutes with a small model and a few hundred dialogues. "
            "diamante: for large models and thousands of dialogues."
        ),
    )
    is_lora = forms.BooleanField(
        label=gettext_lazy("LoRA: train small adapters instead of all weights"),
        required=False,
        help_text=gettext_lazy(
            "For models that do not fit into memory otherwise. The adapters are merged into the model at the end."
        ),
    )
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"),
        min_value=0,
        max_value=LARGEST,
        initial=1,
        help_text=gettext_lazy(
            "The same seed draws the same replies in the same order, and the same new weights."
        ),
    )
    processes = processes_field()

    def __init__(self, user: User, project: Project, data: QueryDict | None = None, **choices: Any) -> None:
        """choices: initial values, for example from a link to the page."""
        super().__init__(data, initial={name: value for name, value in choices.items() if value})
        self.bases = selectable_bases(user, project)
        snapshots = cast("forms.ModelChoiceField[Snapshot]", self.fields["snapshot"])
        snapshots.queryset = usable_snapshots(project)
        self.newest = snapshots.queryset.first()
        self.initial.setdefault("snapshot", self.newest)
        self.initial.setdefault("recipe", fitting_recipe(self.initial["snapshot"]))
        model = cast("forms.ChoiceField", self.fields["model"])
        model.choices = [(base.name, base_name(base)) for base in self.bases]
        if not user.is_superuser:
            del self.fields["other"]
        for name, label in SETTINGS.items():
            self.fields[name] = _field(name, label)

    @property
    def settings(self) -> list[forms.BoundField]:
        return [self[name] for name in SETTINGS]

    @property
    def has_changes(self) -> bool:
        """Whether a setting was entered or has an error, so that the section of settings is open."""
        return (
            any(self[name].data not in (None, "") or self[name].errors for name in SETTINGS)
            if self.data
            else False
        )

    def choices(self) -> dict[str, Any]:
        """Arguments of start_training and memory_of_training, as far as they are valid."""
        values: Mapping[str, Any] = self.cleaned_data if self.is_bound else self.initial
        return {
            "model": values.get("other") or values.get("model") or "",
            "recipe": values.get("recipe") or "",
            "changes": self.changes() if self.is_bound else {},
            "is_lora": bool(values.get("is_lora")),
            "processes": values.get("processes"),
        }

    def changes(self) -> dict[str, Any]:
        """The entered settings that are valid, by name: what differs from the recipe."""
        typed = {name: self.cleaned_data.get(name) for name in SETTINGS}
        changes = {name: value for name, value in typed.items() if value not in (None, "")}
        if not self.cleaned_data.get("is_lora"):
            changes = {name: value for name, value in changes.items() if name not in ONLY_LORA}
        if changes.get("similar") == EVERY:
            changes["similar"] = None
        return changes | {name: changes[name] == "yes" for name in YES_OR_NO if name in changes}


def _field(name: str, label: str | Promise) -> forms.Field:
    options: dict[str, Any] = {"label": label, "required": False, "help_text": defaults_of(name)}
    if name in YES_OR_NO:
        return forms.ChoiceField(choices=[("", "–"), ("yes", _("yes")), ("no", _("no"))], **options)
    if name in CHOICES:
        choices = [(value, VALUES.get(value, value)) for value in CHOICES[name]]
        return forms.ChoiceField(choices=[("", "–"), *choices], **options)
    if name in FLOATS:
        return forms.FloatField(min_value=0, widget=forms.NumberInput(attrs={"step": "any"}), **options)
    least = EVERY if name == "similar" else max(1, LEAST[name]) if name == "lora_rank" else LEAST[name]
    return forms.IntegerField(min_value=least, max_value=LARGEST, **options)


def defaults_of(name: str) -> str:
    """The value of each recipe if nothing is entered: "5", or "diamante 5 · quick 3"."""
    values = {recipe: describe_setting(name, getattr(make(), name)) for recipe, make in RECIPES.items()}
    if name in ONLY_LORA:
        return describe_setting(name, getattr(with_lora(RECIPES["quick"]()), name))
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return " · ".join(f"{recipe} {value}" for recipe, value in values.items())


def describe_setting(name: str, value: Any) -> str:
    """A setting's value in words."""
    if value is None:
        return str(UNSET.get(name, _("automatic")))
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(VALUES.get(value, value)) if isinstance(value, str) else f"{value:g}"


def named_settings(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings of a recipe in words, in the order of the form."""
    return [
        (str(label), describe_setting(name, values[name]))
        for name, label in SETTINGS.items()
        if name in values
    ]


def settings_of_run(run: TrainingRun, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings of a recipe, in words if it is a joint one."""
    if run.kind == ModelKind.JOINT:
        return named_settings(settings)
    return [(name, describe_setting(name, value)) for name, value in settings.items()]


def describe_recipe(run: TrainingRun) -> str:
    """Its name, and the settings that differ from it: "quick · LoRA · Epochs: 2"."""
    others = {name: value for name, value in run.changes.items() if name not in SETTINGS}
    settings = settings_of_run(run, run.changes)
    if run.kind == ModelKind.JOINT:  # those that only the command line and the API can change have no words
        settings += [(name, describe_setting(name, value)) for name, value in others.items()]
    changes = [_("%(setting)s: %(value)s") % {"setting": name, "value": value} for name, value in settings]
    return " · ".join([run.recipe, *(["LoRA"] if run.is_lora else []), *changes])


def base_name(base: BaseModel) -> str:
    return base.parent.slug if base.parent else source_name(base.source)


def source_name(source: str) -> str:
    """The name of an unregistered base model: a Hub id unchanged, a folder by its last two names."""
    if source == settings.SHIPPED_MODEL:
        return _("the demo model")
    return "/".join(Path(source).parts[-2:]) if source.startswith("/") else source


def fitting_recipe(snapshot: Snapshot | None) -> str:
    """The paper's recipe if the training gets beyond its warm-up, or else the quick one."""
    paper = RECIPES["diamante"]()
    return "diamante" if snapshot and steps_of(paper, turns_in(snapshot)) > 2 * paper.warmup else "quick"


def turns_in(snapshot: Snapshot) -> int:
    """The number of turns of the split train with a candidate that differs: one quadruple each per epoch."""
    return next(
        (split.get("replies", 0) for split in snapshot.card.get("splits", []) if split["split"] == "train"), 0
    )


def steps_of(recipe: JointRecipe, turns: int) -> int:
    return recipe.epochs * -(-turns // recipe.batch)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a training will probably take. seconds: at the speed of `like`, a similar training, or None."""

    snapshot: Snapshot | None
    recipe: JointRecipe | None
    turns: int
    steps: int
    measured_on: str
    seconds: float | None
    like: TrainingRun | None

    @property
    def dialogues(self) -> int:
        return self._dialogues("train")

    @property
    def measured(self) -> int:
        return self._dialogues(self.measured_on)

    def _dialogues(self, split: str) -> int:
        columns = self.snapshot.card.get("splits", []) if self.snapshot else []
        return next((column["dialogues"] for column in columns if column["split"] == split), 0)

    @property
    def ends_in_warmup(self) -> bool:
        return bool(self.recipe and 0 < self.steps <= self.recipe.warmup)

    @property
    def settings(self) -> list[tuple[str, str]]:
        if self.recipe is None:
            return []
        values = self.recipe.as_dict()
        used = {
            name: value for name, value in values.items() if name not in ONLY_LORA or self.recipe.lora_rank
        }
        return named_settings(used)


def forecast(form: TrainingForm, runs: Sequence[TrainingRun]) -> Forecast:
    """Predict a training from the form so far. runs: earlier trainings of the project, the newest first."""
    choices = form.cleaned_data if form.is_bound else form.initial
    snapshot, recipe = choices.get("snapshot"), _recipe(form, choices)
    turns = turns_in(snapshot) if snapshot else 0
    steps = steps_of(recipe, turns) if recipe else 0
    like, seconds = _speed(form, choices, runs) if recipe else (None, None)
    total_seconds = seconds * turns * recipe.epochs if seconds and recipe else None
    return Forecast(
        snapshot, recipe, turns, steps, held_out_split(snapshot) if snapshot else "", total_seconds, like
    )


def _recipe(form: TrainingForm, choices: Mapping[str, Any]) -> JointRecipe | None:
    """The recipe with the form's changes; None if the settings are invalid."""
    name = choices.get("recipe")
    if name not in RECIPES:
        return None
    recipe = with_lora(RECIPES[name]()) if choices.get("is_lora") else RECIPES[name]()
    try:
        return with_settings(recipe, setting_arguments(form.changes()) if form.is_bound else [])
    except TrainingError:
        return None


def _speed(
    form: TrainingForm, choices: Mapping[str, Any], runs: Sequence[TrainingRun]
) -> tuple[TrainingRun | None, float | None]:
    """The newest training from the same base, with or without LoRA alike, and its seconds per quadruple."""
    base_name = choices.get("model") or (form.bases[0].name if form.bases else "")
    source = next((base.source for base in form.bases if base.name == base_name), None)
    for run in runs:
        seconds, step = run.latest.get("seconds"), run.latest.get("step")
        batch = run.changes.get("batch") or RECIPES[run.recipe]().batch
        if seconds and step and (run.base, run.is_lora) == (source, bool(choices.get("is_lora"))):
            return run, seconds / (step * batch)
    return None, None
