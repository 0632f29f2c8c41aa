"""Forms for a new password, which also ask what happens to the person's API tokens.

A token works without the password, so a thief who made one keeps it when the password changes.
"""

from typing import Any, Final

from allauth.account.forms import ChangePasswordForm, ResetPasswordKeyForm, SetPasswordForm
from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import ApiToken, User
from accounts.selectors import live_tokens
from accounts.services import revoke_token

TOKENS = "revoked_tokens"
# allauth capitalizes every word of its own labels.
LABELS: Final = {
    "oldpassword": gettext_lazy("Current password"),
    "password1": gettext_lazy("New password"),
    "password2": gettext_lazy("New password (again)"),
}


def tokens_field(user: User | None, *, revoke_all: bool) -> forms.MultipleChoiceField | None:
    """The person's tokens to choose from; None if there is none. revoke_all: whether all are chosen at first."""
    tokens = list(live_tokens(user)) if user else []
    if not tokens:
        return None
    choices = [(str(token.pk), _describe(token)) for token in tokens]
    return forms.MultipleChoiceField(
        label=_("API tokens to revoke"),
        choices=choices,
        required=False,
        initial=[key for key, _label in choices] if revoke_all else [],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("They work without the password. Revoke those that you do not know."),
    )


def _describe(token: ApiToken) -> str:
    return _("%(name)s (%(prefix)s…, created on %(day)s)") % {
        "name": token.name,
        "prefix": token.prefix,
        "day": f"{token.created_at:%Y-%m-%d}",
    }


class TokensMixin:
    """Adds the choice of tokens to a form of allauth, and revokes the chosen ones with the new password."""

    revoke_all = False
    user: User | None
    fields: dict[str, forms.Field]
    cleaned_data: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in LABELS.items():
            if name in self.fields:
                self.fields[name].label = label
        field = tokens_field(self.user, revoke_all=self.revoke_all)
        if field:
            self.fields[TOKENS] = field

    def save(self) -> None:
        super().save()  # type: ignore[misc]
        if self.user:
            for key in self.cleaned_data.get(TOKENS, []):
                revoke_token(user=self.user, token_id=int(key))


class PasswordChangeForm(TokensMixin, ChangePasswordForm):  # type: ignore[misc]
    pass


class FirstPasswordForm(TokensMixin, SetPasswordForm):  # type: ignore[misc]
    pass


class PasswordResetForm(TokensMixin, ResetPasswordKeyForm):  # type: ignore[misc]
    """After a reset somebody else may have had the account: all tokens are chosen at first."""

    revoke_all = True
