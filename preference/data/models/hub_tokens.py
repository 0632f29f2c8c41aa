"""The tokens with which projects write to a Hub."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from projects.models import Project


class HubToken(models.Model):
    """A project's token for a Hub of data sets. sealed: encrypted (common.sealing); no page or answer shows it."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="hub_token")
    sealed = models.TextField(editable=False)
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    set_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"Hub token of {self.project}"
