"""Gold dialogues: dialogues with known correct answers."""

from django.db.models import QuerySet

from annotation.labelling.models.gold import GoldDialogue
from projects.models import Project


def live_gold(project: Project) -> QuerySet[GoldDialogue]:
    rows = GoldDialogue.objects.filter(project=project, retired_at=None)
    return rows.select_related("dialogue", "schema", "made_by")
