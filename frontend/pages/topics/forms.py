"""Forms of topics: the list of a project, and a tagging run."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from common.refusals import Invalid
from frontend.pages.evaluators.scoring_form import setting_field
from preference.topics.models import Tagger
from preference.topics.selectors import categories_of, topic_models
from preference.topics.services.categories import check_categories
from preference.topics.services.tagging import judge_settings
from preference.training.topics.categories import Category
from projects.models import DialogueLanguage, Project

SEPARATOR: Final = "|"
MAX_CHARS: Final = 50_000


class TopicsForm(forms.Form):
    """The topics of a project, one a line."""

    topics = forms.CharField(
        label=gettext_lazy("Topics"),
        required=False,
        max_length=MAX_CHARS,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "One topic per line: id | name in English | name in Chinese. Empty: the usual 26. Dialogues keep a topic"
            " that you remove here."
        ),
    )

    def clean_topics(self) -> list[dict[str, str]]:
        """The categories as the service takes them."""
        lines = [line for line in self.cleaned_data["topics"].splitlines() if line.strip()]
        rows = [_read_line(line) for line in lines]
        try:
            if rows:
                check_categories(rows)
        except Invalid as invalid:
            raise forms.ValidationError(str(invalid.message)) from invalid
        return rows


def _read_line(line: str) -> dict[str, str]:
    parts = [part.strip() for part in line.split(SEPARATOR)]
    if len(parts) != 3:
        message = _("“%(line)s” is not of the form: id | name in English | name in Chinese.")
        raise forms.ValidationError(message % {"line": line.strip()[:80]})
    return dict(zip(("id", "en", "zh"), parts, strict=True))


def topics_form(project: Project) -> TopicsForm:
    """The form with the topics of the project."""
    return TopicsForm(initial={"topics": write_topics(categories_of(project))})


def write_topics(categories: Sequence[Category]) -> str:
    """One topic a line, as TopicsForm reads them."""
    return "\n".join(f" {SEPARATOR} ".join((one.id, one.en, one.zh)) for one in categories)


class TaggingForm(forms.Form):
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    def __init__(self, user: User, project: Project, tagger: str, data: QueryDict | None = None) -> None:
        super().__init__(data)
        self.settings_shown = judge_settings() if tagger == Tagger.JUDGE else []
        if tagger == Tagger.MODEL:
            self.fields["model"] = forms.ChoiceField(
                label=gettext_lazy("Model"),
                choices=[(model.slug, model.slug) for model in topic_models(user, project)],
            )
        for setting in self.settings_shown:
            self.fields[setting.key] = setting_field(setting, user, project)
        if project.language == DialogueLanguage.CHINESE:
            self.initial["language"] = "zh"  # of the judge's prompt
        self.fields["replaces"] = forms.BooleanField(
            label=gettext_lazy("Also retag dialogues that a machine tagged"),
            required=False,
            help_text=gettext_lazy("What a person or an imported file said is never replaced."),
        )

    @property
    def lacks_model(self) -> bool:
        """Whether a model is needed and no project of the person has one."""
        field = self.fields.get("model")
        return isinstance(field, forms.ChoiceField) and not field.choices

    def settings(self) -> Mapping[str, Any]:
        """The settings of the judge, from valid data. Empty ones take their defaults."""
        values = {setting.key: self.cleaned_data.get(setting.key) for setting in self.settings_shown}
        return {key: value for key, value in values.items() if value not in (None, "")}
