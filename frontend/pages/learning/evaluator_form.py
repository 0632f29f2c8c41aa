"""The forms of new evaluators: PairEval on dialogues with candidates, an assessor on final labels, a topic model."""

from typing import Any, cast
from uuid import uuid4

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from frontend.pages.learning.training_form import LARGEST, base_name, processes_field
from frontend.ui.questions import judged_titles
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.snapshots import usable_snapshots
from preference.registry.models import ModelKind
from preference.registry.selectors.bases import selectable_bases
from preference.runs.assessor_options import BASELINES, fitting_questions
from preference.runs.trainers import TRAINERS
from projects.models import Project

MODEL_NAMES = {
    "majority": gettext_lazy("the most frequent label"),
    "naive_bayes": gettext_lazy("naive Bayes"),
    "logistic_regression": gettext_lazy("logistic regression"),
    "gradient_boosting": gettext_lazy("gradient boosting"),
    "gru": gettext_lazy("GRU, trained from scratch"),
    "transformer": gettext_lazy("Transformer, trained from scratch"),
}


class EvaluatorForm(forms.Form):
    """What every evaluator's training asks for."""

    kind: ModelKind

    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    snapshot = forms.ModelChoiceField(
        label=gettext_lazy("Snapshot"), queryset=Snapshot.objects.none(), empty_label=None
    )
    model = forms.ChoiceField(label=gettext_lazy("Begin from"))
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"),
        min_value=0,
        max_value=LARGEST,
        initial=1,
        help_text=gettext_lazy(
            "The same seed draws the same examples in the same order, and the same new weights."
        ),
    )
    changes = forms.CharField(
        label=gettext_lazy("Other settings"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "NAME=VALUE, one per line, for example epochs=2. Empty: the values of the paper."
        ),
    )

    def __init__(self, user: User, project: Project, data: QueryDict | None = None, **choices: Any) -> None:
        """choices: initial values, for example from a link to the page."""
        super().__init__(data, initial={name: value for name, value in choices.items() if value})
        snapshots = cast("forms.ModelChoiceField[Snapshot]", self.fields["snapshot"])
        snapshots.queryset = usable_snapshots(project)
        self.newest = snapshots.queryset.first()
        self.initial.setdefault("snapshot", self.newest)
        bases = selectable_bases(user, project, TRAINERS[self.kind].bases)
        model = cast("forms.ChoiceField", self.fields["model"])
        model.choices = [(base.name, base_name(base)) for base in bases]

    def clean_changes(self) -> dict[str, str]:
        lines = [line.strip() for line in self.cleaned_data["changes"].splitlines() if line.strip()]
        if wrong := next((line for line in lines if "=" not in line), ""):
            raise forms.ValidationError(
                _("“%(line)s” is not a setting: write NAME=VALUE.") % {"line": wrong[:80]}
            )
        return {
            name.strip(): value.strip() for name, _equals, value in (line.partition("=") for line in lines)
        }

    def choices(self) -> dict[str, Any]:
        """The arguments of start_training."""
        names = [name for name in self.cleaned_data if name != "id"]
        return {"kind": self.kind, **{name: self.cleaned_data[name] for name in names}}


class PairEvalForm(EvaluatorForm):
    kind = ModelKind.PAIREVAL

    recipe = forms.ChoiceField(
        label=gettext_lazy("Recipe"),
        choices=[
            ("paper", gettext_lazy("paper (LoRA of rank 8)")),
            ("reversed_lora", gettext_lazy("the paper's other reading (LoRA of rank 16)")),
            ("all_weights", gettext_lazy("all weights, for small models")),
        ],
        widget=forms.RadioSelect,
        initial="paper",
        help_text=gettext_lazy(
            "It learns to prefer what people sent to the candidates that they left aside, and to replies of other "
            "dialogues."
        ),
    )
    processes = processes_field()


class ClassifierForm(EvaluatorForm):
    """Several models are compared, and the best network is kept."""

    models = forms.MultipleChoiceField(
        label=gettext_lazy("Compare"),
        choices=[(name, MODEL_NAMES[name]) for name in BASELINES],
        initial=list(BASELINES),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("The network with the best macro F1 on the split “valid” is kept."),
    )

    def __init__(self, user: User, project: Project, data: QueryDict | None = None, **choices: Any) -> None:
        super().__init__(user, project, data, **choices)
        model = cast("forms.ChoiceField", self.fields["model"])
        model.label, model.required = _("Also a pretrained model"), False
        model.choices = [("", _("none")), *cast("list[tuple[str, str]]", model.choices)]


class AssessorForm(ClassifierForm):
    kind = ModelKind.ASSESSOR

    question = forms.ChoiceField(
        label=gettext_lazy("Question"),
        help_text=gettext_lazy("Only questions whose final labels are 0, 1 and 2 can be learned."),
    )

    def __init__(self, user: User, project: Project, data: QueryDict | None = None, **choices: Any) -> None:
        super().__init__(user, project, data, **choices)
        questions = {name: None for snapshot in self._snapshots() for name in fitting_questions(snapshot)}
        titles = judged_titles(project)
        cast("forms.ChoiceField", self.fields["question"]).choices = [
            (name, titles.get(name, name)) for name in questions
        ]
        self.has_questions = bool(questions)

    def _snapshots(self) -> list[Snapshot]:
        field = cast("forms.ModelChoiceField[Snapshot]", self.fields["snapshot"])
        return list(field.queryset or [])


class TopicModelForm(ClassifierForm):
    kind = ModelKind.TOPICS


FORMS: dict[str, type[EvaluatorForm]] = {
    ModelKind.PAIREVAL: PairEvalForm,
    ModelKind.ASSESSOR: AssessorForm,
    ModelKind.TOPICS: TopicModelForm,
}
