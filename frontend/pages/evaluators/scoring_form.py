"""The form of a new scoring run; its settings depend on the evaluator."""

from collections.abc import Mapping
from typing import Any, Final, cast
from uuid import uuid4

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from frontend.pages.learning.training_form import base_name
from frontend.ui.questions import judged_titles
from preference.evaluators.catalogue import KINDS, QUESTION, SERVER_KEY, EvaluatorKind, Needs, Setting
from preference.evaluators.models import Target
from preference.evaluators.selectors.replies import targets_of
from preference.evaluators.selectors.scoring import usable_models
from preference.evaluators.services.scoring import judged_questions
from preference.registry.selectors.bases import selectable_bases
from projects.models import Project, Protocol

MOST_MODELS: Final = 100
REPLIES: Final = {
    Protocol.AUTHORING: gettext_lazy("Every reply"),
    Protocol.LABELLING: gettext_lazy("The last utterance of every dialogue"),
    Protocol.ASSESSMENT: gettext_lazy("Every reply of a system"),
}


class ScoringForm(forms.Form):
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    target = forms.ChoiceField(label=gettext_lazy("What is scored"))

    def __init__(self, user: User, project: Project, evaluator: str, data: QueryDict | None = None) -> None:
        super().__init__(data)
        self.kind: EvaluatorKind = KINDS[evaluator]
        self.fields["target"] = forms.ChoiceField(
            label=gettext_lazy("What is scored"),
            choices=[(target.value, target_name(project, target)) for target in targets_of(project)],
            help_text=_target_help(self.kind),
        )
        if self.kind.needs == Needs.MODEL:
            self.fields["model"] = forms.ChoiceField(
                label=gettext_lazy("Model"), choices=_model_choices(user, project, self.kind)
            )
        for setting in self.kind.settings:
            self.fields[setting.key] = setting_field(setting, user, project)

    @property
    def lacks_model(self) -> bool:
        """Whether the evaluator needs a model and no project of the person has a fitting one."""
        return "model" in self.fields and not cast("forms.ChoiceField", self.fields["model"]).choices

    def settings(self) -> Mapping[str, Any]:
        """The settings of the evaluator, from valid data. Empty ones take their defaults."""
        values = {setting.key: self.cleaned_data.get(setting.key) for setting in self.kind.settings}
        return {key: value for key, value in values.items() if value not in (None, "")}


def target_name(project: Project, target: Target) -> str:
    """What is scored, in the words of the project's protocol."""
    return str(REPLIES[Protocol(project.protocol)] if target == Target.REPLIES else target.label)


def _target_help(kind: EvaluatorKind) -> str:
    if kind.needs != Needs.REFERENCE:
        return ""
    return _(
        "A candidate is compared with the reply that was sent. Other rows are scored only if they were imported "
        "with a reference."
    )


def _model_choices(user: User, project: Project, kind: EvaluatorKind) -> list[tuple[str, str]]:
    """Fitting trained models and base models by name; the project's own first."""
    bases = selectable_bases(user, project, kind.models) if kind.any_model else []
    choices = {
        base.name: base_name(base) for base in bases if base.parent is None or base.parent.kind in kind.models
    }
    for model in usable_models(user, kind.models)[:MOST_MODELS]:
        choices.setdefault(model.slug, model.slug)
    return list(choices.items())


def setting_field(setting: Setting, user: User, project: Project) -> forms.Field:
    if setting.key == QUESTION:
        keys, titles = judged_questions(project), judged_titles(project)
        choices = [
            ("", gettext_lazy("How good is the reply?")),
            *((key, titles.get(key, key)) for key in keys),
        ]
        return forms.ChoiceField(label=gettext_lazy("Question"), choices=choices, required=False)
    if setting.options:
        return forms.ChoiceField(
            label=str(setting.label),
            choices=list(setting.options.items()),
            initial=setting.default,
            required=False,
        )
    if isinstance(setting.default, int):
        return forms.IntegerField(
            label=str(setting.label),
            initial=setting.default,
            min_value=setting.low,
            max_value=setting.high,
            required=False,
        )
    is_hidden = setting.key == SERVER_KEY and not user.is_superuser
    return forms.CharField(
        label=str(setting.label),
        required=setting.key != SERVER_KEY,
        widget=forms.HiddenInput if is_hidden else forms.TextInput,
        max_length=300,
    )
