"""Dialogues that somebody has begun with, which therefore stay when their import is undone."""

from collections.abc import Callable, Mapping

from django.db.models import Exists, OuterRef, Q

from annotation.tasks.models.work import Assignment, Task
from dialogues.models import Dialogue


def _begun() -> Q:
    """People who are only named in an imported file have begun with nothing."""
    return Q(Exists(Assignment.objects.filter(dialogue=OuterRef("pk"), annotator__imported=False)))


def _in_batch() -> Q:
    return Q(Exists(Task.objects.filter(dialogue=OuterRef("pk"), round__isnull=False)))


def _related(name: str) -> Callable[[], Q]:
    """Dialogues with rows of a room above, by the name of the relation."""

    def condition() -> Q:
        rows = Dialogue.objects.filter(pk=OuterRef("pk"), **{f"{name}__isnull": False})
        return Q(Exists(rows))

    return condition


KEPT_DIALOGUES: Mapping[str, Callable[[], Q]] = {
    "begun": _begun,
    "in_batch": _in_batch,
    "reviewed": _related("expert_reviews"),
    "gold": _related("gold"),
    "discussed": _related("threads"),
}
