"""Runs: one collection of assignments of a project."""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from assessment.setup.models import TopicMode
from jobs.models import Job
from projects.models import Project
from projects.transitions import Moves


class RunState(models.TextChoices):
    DRAFT = "draft", _("Being prepared")
    OPEN = "open", _("Open")
    CLOSED = "closed", _("Closed")


RUN_MOVES: Moves = {
    RunState.DRAFT: {RunState.OPEN, RunState.CLOSED},
    RunState.OPEN: {RunState.CLOSED},
    RunState.CLOSED: {RunState.OPEN},
}


class Run(models.Model):
    """One collection of assignments. Two runs of a project can be compared (self-replication).

    places: assignments wanted. open_places: how many participants may still enter; a constraint keeps it from 0 to
    `places`. It falls when somebody consents and rises when their assignment ends without being completed.
    seed: of the order of the systems in its assignments, chosen by the server. import_job: of an imported run.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=6, choices=RunState, default=RunState.DRAFT)
    topic_mode = models.CharField(_("topic"), max_length=11, choices=TopicMode, default=TopicMode.FREE)
    places = models.PositiveIntegerField(_("participants wanted"), default=0)
    open_places = models.IntegerField(default=0)
    seed = models.BigIntegerField()
    import_job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["project_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="one_run_per_number"),
            models.CheckConstraint(
                condition=Q(open_places__gte=0) & Q(open_places__lte=F("places")), name="run_places"
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.number}"
