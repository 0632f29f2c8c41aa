"""The profile and preferences of the signed-in person."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import get_language, gettext_lazy, override
from django.utils.translation import gettext as _

from accounts.models import Theme
from accounts.services import set_preferences
from frontend.pages.requests import signed_in
from frontend.ui.reading_languages import ReadingLanguagesField


class ProfileForm(forms.Form):
    display_name = forms.CharField(
        label=gettext_lazy("Name shown to others"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("Empty: your sign-in name."),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the interface"),
        choices=[("", gettext_lazy("As the browser")), ("en", "English"), ("zh-hans", "简体中文")],
        widget=forms.RadioSelect,
        required=False,
    )
    reading_languages = ReadingLanguagesField()
    theme = forms.ChoiceField(label=gettext_lazy("Theme"), choices=Theme.choices, widget=forms.RadioSelect)
    submit_on_enter = forms.BooleanField(
        label=gettext_lazy("Enter submits"),
        required=False,
        help_text=gettext_lazy(
            "Shift+Enter then starts a new line. Enter that confirms a word of an input method never submits."
        ),
    )


@login_required
def profile(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    form = ProfileForm(request.POST or None, initial=model_to_dict(user, ProfileForm.base_fields))
    if request.method == "POST" and form.is_valid():
        set_preferences(user=user, **form.cleaned_data)
        # Show the message in the newly chosen language.
        with override(form.cleaned_data["language"] or get_language()):
            messages.success(request, _("Saved."))
        return redirect("profile")
    return render(request, "account/profile.html", {"form": form, "title": _("Profile and preferences")})


urlpatterns = [path("account/", profile, name="profile")]
