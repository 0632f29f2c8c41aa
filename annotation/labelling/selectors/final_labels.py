"""The final labels of a project, as they come about."""

from django.db.models import QuerySet

from annotation.labelling.models.labels import FinalLabel
from common.settled_rows import settled_id
from projects.models import Project


def final_labels_of(project: Project, *, settled: bool = False) -> QuerySet[FinalLabel]:
    """The live final labels, in the order in which they were decided, without those of deleted dialogues.

    settled: only those that nobody who continues behind the newest of them can miss. Raises Refusal not_settled.
    """
    rows = FinalLabel.objects.filter(project=project, superseded_at=None, dialogue__isnull=False)
    if settled:
        rows = rows.filter(pk__lte=settled_id(FinalLabel))
    return rows.select_related("dialogue", "schema", "task__round__batch").order_by("pk")
