"""The chatbots under test."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from generation.models import Generator
from projects.models import Project


class Connector(models.TextChoices):
    """How replies of a system are obtained (assessment/systems/connectors)."""

    GENERATOR = "generator", _("Model of this server")
    OPENAI = "openai", _("OpenAI-compatible server")
    HTTP = "http", _("Conversational HTTP service")
    DEGRADED = "degraded", _("Degraded: random, distorted replies")
    IMPORTED = "imported", _("Known from imported ratings only")


class System(models.Model):
    """A chatbot under test. Participants never see its name.

    generator: of the connector `generator`. corpus: the project whose dialogues a degraded system takes its words from.
    options: of the other connectors; secrets are not stored, options name the environment variable that holds them.
    persona: sentences that the system gets before a conversation. sampling: fields of generation.protocol.Sampling.
    identity_words: a reply that contains one of them may tell participants which system it is.
    retired_at: takes part in no further session; what was rated stays.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(_("name"), max_length=80)
    connector = models.CharField(_("connector"), max_length=9, choices=Connector)
    generator = models.ForeignKey(
        Generator, null=True, blank=True, on_delete=models.PROTECT, related_name="+", verbose_name=_("model")
    )
    corpus = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.PROTECT, related_name="+", verbose_name=_("corpus")
    )
    options = models.JSONField(_("options"), default=dict, blank=True)
    persona = models.JSONField(_("persona"), default=list, blank=True)
    sampling = models.JSONField(_("sampling"), default=dict, blank=True)
    identity_words = models.JSONField(_("words that identify it"), default=list, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    retired_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["project_id", "name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="one_system_per_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_degraded(self) -> bool:
        return self.connector == Connector.DEGRADED
