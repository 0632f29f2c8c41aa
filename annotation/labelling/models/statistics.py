"""The statistics that were last computed for a labelling project."""

from django.db import models

from annotation.labelling.models.labels import Schema
from projects.models import Project


class LabelStatistics(models.Model):
    """One row per project, overwritten each time. numbers: see annotation.labelling.selectors.statistics.Numbers.

    submissions, final_labels: the number of rows when the computation began, to count what is new since.
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
