"""The two fields in which a person chooses a password."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

NEW = {"autocomplete": "new-password"}


class NewPasswordForm(forms.Form):
    """The service checks how good the password is."""

    password = forms.CharField(
        label=gettext_lazy("New password"),
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs=NEW),
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
