from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from dialogues.models import Dialogue
    from dialogues.parsing import ParsedDialogue
    from projects.models import Project


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = _("Annotation")

    def ready(self) -> None:
        from dialogues.services.storing import AFTER_STORED

        AFTER_STORED.append(follow_import)


def follow_import(project: "Project", new: "Sequence[tuple[Dialogue, ParsedDialogue]]") -> None:
    """What an import of dialogues means here: tasks, in a labelling project."""
    from annotation.services.planning import plan_new

    plan_new(project, [dialogue for dialogue, _parsed in new])
