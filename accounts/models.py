"""People and their API tokens."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.languages import LANGUAGES


class Theme(models.TextChoices):
    AUTO = "auto", _("As the system")
    LIGHT = "light", _("Light")
    DARK = "dark", _("Dark")


class User(AbstractUser):
    """A person who signs in. What they may do is decided per project (projects.Membership)."""

    display_name = models.CharField(_("display name"), max_length=80, blank=True)
    language = models.CharField(
        _("interface language"),
        max_length=10,
        blank=True,
        choices=settings.LANGUAGES,
        help_text=_("Empty: as the browser"),
    )
    theme = models.CharField(_("theme"), max_length=5, choices=Theme, default=Theme.AUTO)
    submit_on_enter = models.BooleanField(
        _("Enter submits"),
        default=False,
        help_text=_("Shift+Enter then starts a new line. Never while composing."),
    )
    # Web processes of the release before write rows without it while an upgrade runs.
    reading_languages = ArrayField(
        models.CharField(max_length=3, choices=LANGUAGES),
        verbose_name=_("languages that you read"),
        blank=True,
        default=list,
        db_default=[],
        help_text=_("You are only given dialogues in these languages. Empty: in every language."),
    )
    temporary_password_until = models.DateTimeField(
        null=True,
        editable=False,
        help_text=_(
            "While set, the password was chosen by somebody else and only opens the page that changes it."
        ),
    )
    imported = models.BooleanField(
        default=False,
        editable=False,
        help_text=_("Stands for an annotator of an imported file; cannot sign in."),
    )

    @property
    def shown_name(self) -> str:
        return self.display_name or self.username


class Scope(models.TextChoices):
    """What a token may be used for. It never allows more than its owner may do."""

    READ = "read", _("Read everything the owner may see")
    ANNOTATE = "annotate", _("Claim and submit work")
    MANAGE = "manage", _("Import, export, review, change projects")


class ApiToken(models.Model):
    """A bearer token. Only its SHA-256 is stored; the plain value is shown once, when it is created."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(_("name"), max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(
        max_length=12, editable=False, help_text=_("The first characters, to recognise it by")
    )
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope))
    request_id = models.UUIDField(
        null=True, editable=False, help_text=_("Made by the client; a second send finds the first token")
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "request_id"], name="one_token_per_request"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"

    @property
    def days(self) -> int | None:
        """The lifetime that was asked for; None if the token never expires."""
        return round((self.expires_at - self.created_at) / timedelta(days=1)) if self.expires_at else None

    @property
    def is_live(self) -> bool:
        now = timezone.now()
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
