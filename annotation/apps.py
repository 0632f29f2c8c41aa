from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from dialogues.models import Dialogue
    from dialogues.parsing import ParsedDialogue, RowError
    from projects.models import Project


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = _("Annotation")

    def ready(self) -> None:
        from dialogues.services.storing import CHECKS, STORED_WITH
        from jobs.registry import register
        from projects.roles import Capability

        work = "annotation.services.label_statistics.carry_out_statistics"
        register("agreement", work, needs=Capability.READ_STATISTICS)
        CHECKS.append(check_import)
        STORED_WITH.append(follow_import)


def check_import(project: "Project", parsed: "ParsedDialogue") -> "RowError | None":
    """Why the annotations of an imported dialogue do not fit a labelling project."""
    from annotation.services.imported_labels import misfit

    return misfit(project, parsed)


def follow_import(project: "Project", new: "Sequence[tuple[Dialogue, ParsedDialogue]]") -> None:
    """What an import of dialogues means here: labels of those that have annotations, tasks of the others."""
    from annotation.services.imported_labels import store_labels
    from annotation.services.planning import plan_new

    plan_new(project, store_labels(project, new))
