"""The form of a system: one set of fields for each connector."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from accounts.models import User
from assessment.systems.models import Connector, System
from assessment.systems.selectors.systems import corpora_for, corpora_with_dialogues
from assessment.systems.services.systems import KEY_OPTION, MAX_NAME
from frontend.ui.project_fields import TitledProject
from generation.models import Generator
from generation.selectors import usable_generators
from projects.models import Project

SAMPLING: Final = ("temperature", "top_k", "max_new_tokens")
OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    Connector.OPENAI: ("base_url", "model", "system_prompt", "extra_body", KEY_OPTION),
    Connector.HTTP: ("address", KEY_OPTION),
}
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    Connector.GENERATOR: ("name", "generator", "persona", *SAMPLING, "identity_words"),
    Connector.OPENAI: ("name", *OPTIONS[Connector.OPENAI], "persona", *SAMPLING, "identity_words"),
    Connector.HTTP: ("name", *OPTIONS[Connector.HTTP], "persona", "identity_words"),
    Connector.DEGRADED: ("name", "corpus"),
}


class LinesField(forms.CharField):
    """A list of texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 4, "dir": "auto"})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class ObjectField(forms.JSONField):
    """A JSON object, or nothing."""

    def prepare_value(self, value: Any) -> Any:
        return "" if value is None else super().prepare_value(value)


class SystemForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=MAX_NAME,
        help_text=gettext_lazy("Participants never see it."),
    )
    generator = forms.ModelChoiceField(
        label=gettext_lazy("Model"), queryset=Generator.objects.none(), empty_label=None
    )
    base_url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=500,
        widget=forms.TextInput(attrs={"placeholder": "http://127.0.0.1:8000/v1", "dir": "ltr"}),
        help_text=gettext_lazy("Of the server, as the worker reaches it; it ends with /v1."),
    )
    model = forms.CharField(
        label=gettext_lazy("Model"),
        max_length=200,
        widget=forms.TextInput(attrs={"dir": "ltr"}),
        help_text=gettext_lazy("As the server calls it."),
    )
    address = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=500,
        widget=forms.TextInput(attrs={"placeholder": "http://127.0.0.1:8080/chat", "dir": "ltr"}),
        help_text=gettext_lazy("The service answers POST to /init, /next and /end below it."),
    )
    system_prompt = forms.CharField(
        label=gettext_lazy("System prompt"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )
    extra_body = ObjectField(
        label=gettext_lazy("More fields for the server"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "ltr", "spellcheck": "false"}),
        help_text=gettext_lazy('A JSON object, for example {"top_p": 0.9}.'),
    )
    api_key_env = forms.CharField(
        label=gettext_lazy("Environment variable with the key"),
        required=False,
        max_length=200,
        widget=forms.TextInput(
            attrs={
                "placeholder": "LAPIDARY_KEY_…",
                "dir": "ltr",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
        help_text=gettext_lazy("The name of the worker's variable. Never the key itself."),
    )
    corpus = TitledProject(
        label=gettext_lazy("Corpus"),
        queryset=Project.objects.none(),
        empty_label=gettext_lazy("Choose a project"),
        help_text=gettext_lazy(
            "The project whose finished dialogues it takes replies and words from, in the language of the study. "
            "Chats of participants are never used."
        ),
    )
    persona = LinesField(
        label=gettext_lazy("Persona"),
        required=False,
        help_text=gettext_lazy("Sentences that the system gets about itself, one per line."),
    )
    temperature = forms.FloatField(
        label=gettext_lazy("Temperature"),
        required=False,
        min_value=0.01,
        max_value=10,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    top_k = forms.IntegerField(label="Top-k", required=False, min_value=1, max_value=100_000)
    max_new_tokens = forms.IntegerField(
        label=gettext_lazy("Longest reply, in tokens"), required=False, min_value=1, max_value=4096
    )
    identity_words = LinesField(
        label=gettext_lazy("Words that identify it"),
        required=False,
        help_text=gettext_lazy(
            "One per line. Replies that contain one are flagged and counted in the report."
        ),
    )

    def __init__(
        self,
        data: QueryDict | None,
        *,
        connector: str,
        project: Project,
        user: User,
        system: System | None = None,
    ) -> None:
        self._connector = connector
        super().__init__(data, initial=_initial(system) if system else {})
        for name in set(self.fields) - set(FIELDS[connector]):
            del self.fields[name]
        self.order_fields(list(FIELDS[connector]))
        self._fill_choices(user, project, system)
        if KEY_OPTION in self.fields and not user.is_superuser:
            self.fields[KEY_OPTION].disabled = True
            self.fields[KEY_OPTION].help_text = gettext_lazy(
                "Only administrators choose which server gets a key."
            )

    def _fill_choices(self, user: User, project: Project, system: System | None) -> None:
        if isinstance(field := self.fields.get("generator"), forms.ModelChoiceField):
            field.queryset = usable_generators(project, system.generator_id if system else None)
        if isinstance(field := self.fields.get("corpus"), forms.ModelChoiceField):
            corpora = corpora_for(user)
            keys = {each.pk for each in corpora}
            present = {system.corpus_id} if system else set()
            field.queryset = Project.objects.filter(pk__in=keys | present).order_by("title")
            if system is None:
                field.initial = _suited_corpus(corpora, project)

    def nothing_to_choose(self) -> str:
        """What to do where the server has no model that could be chosen; empty if it has one."""
        field = self.fields.get("generator")
        models = field.queryset if isinstance(field, forms.ModelChoiceField) else None
        if self.is_bound or models is None or models.exists():
            return ""
        return gettext(
            "Train a model in a project where people write, ask an administrator to add one, or add an"
            " OpenAI-compatible server instead."
        )

    def settings(self) -> dict[str, Any]:
        """Arguments of the services that create and change a system."""
        values = self.cleaned_data
        settings: dict[str, Any] = {
            name: values[name]
            for name in ("name", "generator", "corpus", "persona", "identity_words")
            if name in values
        }
        settings["options"] = {
            name: values[name] for name in OPTIONS.get(self._connector, ()) if values[name] not in ("", None)
        }
        settings["sampling"] = {
            name: values[name] for name in SAMPLING if name in values and values[name] is not None
        }
        return settings


def _suited_corpus(corpora: Sequence[Project], study: Project) -> Project | None:
    """A project with dialogues, in the language of the study if there is one; the study itself comes last."""
    filled = corpora_with_dialogues(corpora)
    filled.sort(key=lambda each: (each.pk == study.pk, each.language != study.language))
    return filled[0] if filled else None


def _initial(system: System) -> dict[str, Any]:
    own = ("name", "generator", "corpus", "persona", "identity_words")
    return {**{name: getattr(system, name) for name in own}, **system.options, **system.sampling}
