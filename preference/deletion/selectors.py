"""What is made of dialogues and affected when they are deleted."""

from collections.abc import Sequence

from dialogues.models import Dialogue
from preference.data.models.snapshots import Snapshot
from preference.evaluators.models import Score


def count_scores(dialogues: Sequence[int]) -> int:
    return Score.objects.filter(dialogue__in=dialogues).count()


def count_snapshots(dialogues: Sequence[int]) -> int:
    """Snapshots that may contain them; which do is found when their files are read."""
    projects = Dialogue.objects.filter(pk__in=dialogues).values("project")
    return Snapshot.objects.filter(project__in=projects).exclude(path="").count()
