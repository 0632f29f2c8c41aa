"""The two fields in which a person chooses a password."""

from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_texts
from django.utils.functional import lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.sentences import join_sentences


def _password_rules() -> str:
    return join_sentences(password_validators_help_texts())


NEW = {"autocomplete": "new-password"}


class NewPasswordForm(forms.Form):
    """The service checks how good the password is."""

    password = forms.CharField(
        label=gettext_lazy("New password"),
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs=NEW),
        help_text=lazy(_password_rules, str)(),
    )
    repeated = forms.CharField(
        label=gettext_lazy("New password, again"),
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs=NEW),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if "repeated" in data and data.get("password") != data["repeated"]:
            self.add_error("repeated", _("The two passwords differ."))
        return data
