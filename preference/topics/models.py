"""The topics of a project, and the runs that tag its dialogues with them."""

import uuid

from django.conf import settings as configuration
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from dialogues.models import TopicSource
from jobs.models import Job
from preference.registry.models import RegisteredModel
from projects.models import Project


class TopicList(models.Model):
    """The topics of a project that does not use the usual ones. categories: [{"id", "en", "zh"}, …] in their order."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="topic_list")
    categories = models.JSONField()

    def __str__(self) -> str:
        return f"topics of {self.project_id}"


class Tagger(models.TextChoices):
    """What tags: the values are those of TopicSource."""

    JUDGE = TopicSource.JUDGE.value, pgettext_lazy("a model that judges", "Judge")
    MODEL = TopicSource.MODEL.value, _("Topic model")


class TaggingRun(models.Model):
    """One tagger over the dialogues of a project; its state is that of its job.

    id: the same as its job's. settings: of the judge, by name, with defaults. model: that tags; None for a judge.
    categories: as they were at the start, like TopicList.categories. replaces: whether topics of other machines are
    replaced. description: of the judge, as DialogueLabeller.describe(). unanswered: dialogues without a usable answer;
    reasons: their number by reason, the most frequent ones. removed: topics that undoing removed; None before it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tagging_runs")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="tagging_run")
    tagger = models.CharField(max_length=8, choices=Tagger)
    settings = models.JSONField(default=dict)
    model = models.ForeignKey(
        RegisteredModel, null=True, on_delete=models.CASCADE, related_name="tagging_runs"
    )
    categories = models.JSONField()
    replaces = models.BooleanField(default=False)
    description = models.JSONField(default=dict)
    tagged = models.PositiveIntegerField(default=0)
    unanswered = models.PositiveIntegerField(default=0)
    reasons = models.JSONField(default=dict)
    removed = models.PositiveIntegerField(null=True)
    created_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="tagging_newest")]

    def __str__(self) -> str:
        return f"topics of {self.project_id} by {self.tagger}"
