"""The last numbers that were computed about a labelling project's work."""

from django.db import models

from annotation.labelling.models.labels import Schema
from projects.models import Project


class LabelStatistics(models.Model):
    """One row a project, written anew each time. `numbers` as `annotation.labelling.selectors.statistics.Numbers`.

    submissions, final_labels: how many rows of them there were when it began, so that one can say what came since.
    """

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="label_statistics", primary_key=True
    )
    schema = models.ForeignKey(Schema, null=True, on_delete=models.SET_NULL, related_name="+")
    submissions = models.PositiveBigIntegerField(default=0)
    final_labels = models.PositiveBigIntegerField(default=0)
    numbers = models.JSONField(default=dict)
    computed_at = models.DateTimeField(null=True)
    seconds = models.FloatField(default=0)

    def __str__(self) -> str:
        return f"label statistics of {self.project_id}"
