"""Settings of the study: the consent, the statements, the chat, the panel."""

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from assessment.sessions.models.participants import AssignmentState
from assessment.sessions.services.links import parameter_names
from assessment.setup.checks import questionable_codes
from assessment.setup.models import AssessmentSettings
from assessment.setup.selectors import assessment_project
from assessment.setup.services import update_assessment
from common.refusals import Refusal
from frontend.pages.requests import signed_in
from projects.models import Project
from projects.roles import Capability

OUTCOMES: Final = (
    AssignmentState.COMPLETED,
    AssignmentState.SYSTEM_FAILURE,
    AssignmentState.TIMED_OUT,
    AssignmentState.DECLINED,
)
# Where the form shows what is wrong with a setting that is several fields.
SHOWN_AT: Final = {"completion_codes": "code_timed_out", "parameter_names": "name_participant"}
SECTIONS: Final = (
    (gettext_lazy("Consent"), ("consent_en", "consent_zh")),
    (
        gettext_lazy("Conversations"),
        (
            *("ordinary_systems", "inputs", "min_words", "delay_ms", "delay_per_character_ms"),
            *("reply_timeout_seconds", "reply_retries", "expires_after_minutes", "ice_breakers"),
        ),
    ),
    (
        gettext_lazy("Participants and panel"),
        (
            *("signed_links", "runs_per_participant", "return_url"),
            *("name_participant", "name_study", "name_session"),
            *(f"code_{outcome.value}" for outcome in OUTCOMES),
        ),
    ),
    (gettext_lazy("Report"), ("significance", "language_name_en", "language_name_zh")),
)


class StudyForm(forms.ModelForm):  # type: ignore[type-arg]
    ice_breakers = forms.CharField(
        label=gettext_lazy("Ice-breakers"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy(
            "One per line. Empty: sentences of the systems' personas. In a study in several languages, participants "
            "get those in their own language."
        ),
    )
    name_participant = forms.CharField(
        label=gettext_lazy("Parameter that names the participant"), max_length=80
    )
    name_study = forms.CharField(label=gettext_lazy("Parameter that names the study"), max_length=80)
    name_session = forms.CharField(label=gettext_lazy("Parameter that names the session"), max_length=80)

    class Meta:
        model = AssessmentSettings
        fields = (
            *("consent_en", "consent_zh", "ordinary_systems", "inputs", "min_words", "delay_ms"),
            *("delay_per_character_ms", "reply_timeout_seconds", "reply_retries", "expires_after_minutes"),
            *("signed_links", "runs_per_participant", "return_url", "significance"),
            *("language_name_en", "language_name_zh"),
        )
        widgets = {
            "consent_en": forms.Textarea(attrs={"rows": 8, "lang": "en"}),
            "consent_zh": forms.Textarea(attrs={"rows": 8, "lang": "zh-Hans"}),
        }
        help_texts = {
            "consent_en": gettext_lazy(
                "Markdown. A list of what is recorded is added below the text automatically."
            ),
            "return_url": gettext_lazy(
                "{code} is replaced by the completion code. "
                "For Prolific: https://app.prolific.com/submissions/complete?cc={code}"
            ),
            "language_name_en": gettext_lazy(
                "For {language} in statements. Empty: the language that each participant reads in."
            ),
            "signed_links": gettext_lazy("Off: the panel fills in the parameters of one link for everybody."),
        }

    def __init__(self, data: Any = None, *, instance: AssessmentSettings) -> None:
        names = parameter_names(instance)
        initial = {
            "ice_breakers": "\n".join(instance.ice_breakers),
            **{f"name_{name}": value for name, value in names.items()},
            **{f"code_{outcome.value}": instance.completion_codes.get(outcome, "") for outcome in OUTCOMES},
        }
        super().__init__(data, instance=instance, initial=initial)
        for outcome in OUTCOMES:
            label = _("Code: %(outcome)s") % {"outcome": outcome.label}
            self.fields[f"code_{outcome.value}"] = forms.CharField(
                label=label, required=False, max_length=100
            )

    def changes(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        names = {name: values.pop(f"name_{name}").strip() for name in ("participant", "study", "session")}
        codes = {outcome.value: values.pop(f"code_{outcome.value}").strip() for outcome in OUTCOMES}
        lines = [line.strip() for line in values.pop("ice_breakers").splitlines()]
        return {
            **values,
            "ice_breakers": [line for line in lines if line],
            "parameter_names": names,
            "completion_codes": codes,
        }


class SentenceField(forms.CharField):
    """A sentence, in a box since a line would cut the longer ones."""

    widget = forms.Textarea(attrs={"rows": 2})

    def clean(self, value: Any) -> str:
        return " ".join(super().clean(value).split())


class StatementForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=40)
    text_en = SentenceField(label=gettext_lazy("English"), max_length=500)
    text_zh = SentenceField(label=gettext_lazy("Chinese"), max_length=500)
    is_reversed = forms.BooleanField(label=gettext_lazy("Agreeing is bad"), required=False)
    in_reliability_test = forms.BooleanField(
        label=gettext_lazy("Counts in the reliability test"), required=False
    )


StatementFormSet = forms.formset_factory(StatementForm, extra=1, can_delete=True, max_num=30)


@login_required
@never_cache
def study_settings(request: HttpRequest, slug: str) -> HttpResponse:
    project = assessment_project(signed_in(request), slug, Capability.CONFIGURE)
    if request.method != "POST":
        return _render(request, project)
    form = StudyForm(request.POST, instance=AssessmentSettings.objects.get(project=project))
    if form.is_valid() and _save(request, project, form, form.changes()):
        return redirect("study_settings", slug)
    return _render(request, project, form=form)


@login_required
@never_cache
def statements(request: HttpRequest, slug: str) -> HttpResponse:
    project = assessment_project(signed_in(request), slug, Capability.CONFIGURE)
    formset = StatementFormSet(request.POST, prefix="statements")
    if formset.is_valid():
        rows = [form.cleaned_data for form in formset.forms if form.cleaned_data.get("name")]
        kept = [
            {name: row[name] for name in StatementForm.base_fields} for row in rows if not row.get("DELETE")
        ]
        if _save(request, project, None, {"statements": kept}):
            return redirect("study_settings", slug)
    return _render(request, project, formset=formset)


def _save(request: HttpRequest, project: Project, form: StudyForm | None, changes: dict[str, Any]) -> bool:
    try:
        settings = update_assessment(project=project, actor=signed_in(request), changes=changes)
    except Refusal as refusal:
        field = str(refusal.details.get("field"))
        if form is not None:
            shown_at = SHOWN_AT.get(field, field)
            form.add_error(shown_at if shown_at in form.fields else None, str(refusal))
        else:
            messages.error(request, str(refusal))
        return False
    messages.success(request, _("Saved."))
    for sentence in questionable_codes(settings) if "completion_codes" in changes else ():
        messages.warning(request, sentence)
    return True


def _render(
    request: HttpRequest, project: Project, form: StudyForm | None = None, formset: Any = None
) -> HttpResponse:
    stored = AssessmentSettings.objects.get(project=project)
    form_shown = form or StudyForm(instance=stored)
    context = {
        "project": project,
        "title": _("Study"),
        "form": form_shown,
        "sections": [(title, [form_shown[name] for name in names]) for title, names in SECTIONS],
        "formset": formset or StatementFormSet(prefix="statements", initial=stored.statements),
    }
    failed = form is not None or formset is not None
    return render(request, "assessment/manager/study_settings.html", context, status=422 if failed else 200)


urlpatterns = [
    path("p/<slug:slug>/study/", study_settings, name="study_settings"),
    path("p/<slug:slug>/study/statements/", statements, name="study_statements"),
]
